import { setImmediate } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import type { TokenSource } from '../src/index.js';
import { type Answer, type Received, startFaultServer, STORED } from './support/fault-server.js';
import { clientFor, DEFINITION, failureOf } from './support/test-client.js';

const REFUSED: Answer = { code: status.UNAUTHENTICATED, details: 'The token has expired.' };

/** An address on which nothing listens, for calls that fail before they are sent. */
const NOWHERE = '127.0.0.1:1';

/** How a server answers that accepts only this token: with a stored route. */
function answerToToken(good: string): (received: Received) => Answer {
  return ({ metadata }) => (metadata.get('authorization')[0] === `Bearer ${good}` ? STORED : REFUSED);
}

describe('a token', () => {
  it.each<[string, TokenSource]>([
    ['a string', 'good'],
    ['a function', () => 'good'],
    ['an async function', () => Promise.resolve('good')],
  ])('may be %s', async (_, token) => {
    const server = await startFaultServer(answerToToken('good'));
    await expect(clientFor(server.address, { token }).getRoute('x')).resolves.toBeDefined();
  });

  it('is replaced once if refused, and the call is retried with its request id', async () => {
    const server = await startFaultServer(answerToToken('new'));
    const refusals: (string | undefined)[] = [];
    const token = (refused?: string): string => {
      refusals.push(refused);
      return refused === undefined ? 'old' : 'new';
    };
    await expect(clientFor(server.address, { token }).createRoute(DEFINITION)).resolves.toBeDefined();
    expect(refusals).toEqual([undefined, 'old']);
    expect(server.creates).toHaveLength(2);
    expect(server.creates[1]?.requestId).toBe(server.creates[0]?.requestId);
  });

  it.each<[string, TokenSource, sent: number]>([
    ['it is a string', 'old', 1],
    ['its function returns the same one again', () => 'old', 1],
    ['the next one is refused, too', (refused) => (refused === undefined ? 'old' : 'new'), 2],
  ])('that is refused fails the call if %s', async (_, token, sent) => {
    const server = await startFaultServer(() => REFUSED);
    const failure = await failureOf(clientFor(server.address, { token }).getRoute('x'));
    expect(failure).toMatchObject({ status: 'UNAUTHENTICATED', message: 'The token has expired.' });
    expect(server.received).toHaveLength(sent);
  });
});

describe('a token function', () => {
  describe.each([
    { kind: 'an Error', thrown: new Error('The issuer is away.'), text: 'The issuer is away.' },
    { kind: 'a string', thrown: 'away', text: 'away' },
  ])('fails the call with its cause', ({ kind, thrown, text }) => {
    const expected = {
      status: 'UNAUTHENTICATED',
      reason: undefined,
      message: `There is no token for the call: ${text}`,
      cause: thrown,
    };

    it(`if it throws ${kind}`, async () => {
      const token = (): string => {
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- JavaScript may throw anything
        throw thrown;
      };
      expect(await failureOf(clientFor(NOWHERE, { token }).getRoute('x'))).toMatchObject(expected);
    });

    it(`if it rejects with ${kind}`, async () => {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- JavaScript may reject with anything
      const token = (): Promise<string> => Promise.reject(thrown);
      expect(await failureOf(clientFor(NOWHERE, { token }).getRoute('x'))).toMatchObject(expected);
    });
  });

  it.each([
    { returned: 'secret\nx-admin: yes', why: 'it contains a line break' },
    { returned: 'Bearer secret', why: 'the client itself adds the scheme' },
    { returned: undefined as unknown as string, why: 'it is not a string' },
    {
      returned: 'secret'.repeat(2_000),
      why: 'it is too long',
      text: 'It has 12000 characters; the service takes at most 8192.',
    },
  ])(
    'fails the call if what it returns is no token, since $why, and the error does not show it',
    async ({ returned, text = 'not a bearer token' }) => {
      const failure = await failureOf(clientFor(NOWHERE, { token: () => returned }).getRoute('x'));
      expect(failure.status).toBe('UNAUTHENTICATED');
      expect(failure.message).toContain(text);
      expect(`${failure.stack}${JSON.stringify(failure)}${String(failure.cause)}`).not.toContain('secret');
    },
  );

  describe('that hangs', () => {
    const token = (): Promise<string> => new Promise(() => undefined);

    it('leaves the call its deadline', async () => {
      const failure = await failureOf(clientFor(NOWHERE, { token }).getRoute('x', { timeoutMs: 50 }));
      expect(failure).toMatchObject({
        status: 'DEADLINE_EXCEEDED',
        message: 'Deadline exceeded after 50 ms, waiting for a token.',
      });
    });

    it('leaves the call its signal', async () => {
      const signal = AbortSignal.timeout(20);
      const failure = await failureOf(clientFor(NOWHERE, { token }).getRoute('x', { signal }));
      expect(failure).toMatchObject({ status: 'CANCELLED', cause: { name: 'TimeoutError' } });
    });
  });
});

it('a call that fails for want of a token leaves no timer that keeps the process alive', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  const token = (): Promise<string> => Promise.reject(new Error('away'));
  await failureOf(clientFor(NOWHERE, { token }).getRoute('x', { timeoutMs: 60_000 }));
  await setImmediate();
  expect(timers()).toBeLessThanOrEqual(before);
});
