import { setImmediate } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { describe, expect, it, vi } from 'vitest';
import type { TokenSource } from '../src/index.js';
import { type Answer, type Received, startFaultServer, STORED } from './support/fault-server.js';
import { clientFor, DEFINITION, failureOf } from './support/test-client.js';

const REFUSED: Answer = { code: status.UNAUTHENTICATED, details: 'The token has expired.' };

/** The answer of a server that accepts only this token. */
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
    ['a string', 'old', 1],
    ['a function that returns the same token', () => 'old', 1],
    ['a function whose next token is refused, too', (refused) => (refused === undefined ? 'old' : 'new'), 2],
  ])('that stays refused fails the call: %s', async (_, token, sent) => {
    const server = await startFaultServer(() => REFUSED);
    const failure = await failureOf(clientFor(server.address, { token }).getRoute('x'));
    expect(failure).toMatchObject({ status: 'UNAUTHENTICATED', message: 'The token has expired.' });
    expect(server.received).toHaveLength(sent);
  });
});

describe('a token function', () => {
  it.each([
    { kind: 'an Error', thrown: new Error('The issuer is away.'), text: 'The issuer is away.' },
    { kind: 'a string', thrown: 'away', text: 'away' },
  ])('fails the call if it throws $kind', async ({ thrown, text }) => {
    const token = vi.fn<() => Promise<string>>().mockRejectedValue(thrown);
    const failure = await failureOf(clientFor('127.0.0.1:1', { token }).getRoute('x'));
    expect(failure).toMatchObject({
      status: 'UNAUTHENTICATED',
      reason: undefined,
      message: `There is no token for the call: ${text}`,
      cause: thrown,
    });
  });

  it.each([
    { returned: 'secret\nx-admin: yes', why: 'it contains a line break' },
    { returned: 'Bearer secret', why: 'the client adds the scheme' },
    { returned: undefined as unknown as string, why: 'it is not a string' },
    {
      returned: 'secret'.repeat(2_000),
      why: 'it is too long',
      text: 'It has 12000 characters; the service takes at most 8192.',
    },
  ])(
    'fails the call if it returns no token, with an error that does not show the value: $why',
    async ({ returned, text = 'not a bearer token' }) => {
      const failure = await failureOf(clientFor('127.0.0.1:1', { token: () => returned }).getRoute('x'));
      expect(failure.status).toBe('UNAUTHENTICATED');
      expect(failure.message).toContain(text);
      expect(`${failure.stack}${JSON.stringify(failure)}${String(failure.cause)}`).not.toContain('secret');
    },
  );

  it('that hangs keeps neither the deadline nor a signal from ending the call', async () => {
    const client = clientFor('127.0.0.1:1', { token: () => new Promise(() => undefined) });
    expect(await failureOf(client.getRoute('x', { timeoutMs: 50 }))).toMatchObject({
      status: 'DEADLINE_EXCEEDED',
      message: 'Deadline exceeded after 50 ms, waiting for a token.',
    });
    const failure = await failureOf(client.getRoute('x', { signal: AbortSignal.timeout(20) }));
    expect(failure).toMatchObject({ status: 'CANCELLED', cause: { name: 'TimeoutError' } });
  });
});

it('a finished call leaves no timer that keeps the process alive', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  const token = vi.fn<() => Promise<string>>().mockRejectedValue(new Error('away'));
  await failureOf(clientFor('127.0.0.1:1', { token }).getRoute('x', { timeoutMs: 60_000 }));
  await setImmediate();
  expect(timers()).toBeLessThanOrEqual(before);
});
