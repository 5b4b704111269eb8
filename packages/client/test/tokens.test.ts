import { setImmediate } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { describe, expect, it, vi } from 'vitest';
import type { TokenSource } from '../src/index.js';
import { type Answer, type Received, startFaultServer, STORED } from './support/fault-server.js';
import { clientFor, DEFINITION, failureOf } from './support/test-client.js';

const REFUSED: Answer = { code: status.UNAUTHENTICATED, details: 'The token has expired.' };

/** Accepts one token. */
function accepting(good: string): (received: Received) => Answer {
  return ({ metadata }) => (metadata.get('authorization')[0] === `Bearer ${good}` ? STORED : REFUSED);
}

describe('a token', () => {
  it.each<{ kind: string; token: TokenSource }>([
    { kind: 'a string', token: 'good' },
    { kind: 'a function', token: () => 'good' },
    { kind: 'an async function', token: () => Promise.resolve('good') },
  ])('may be $kind', async ({ token }) => {
    const server = await startFaultServer(accepting('good'));
    await expect(clientFor(server.address, { token }).getRoute('x')).resolves.toBeDefined();
  });

  it('is requested for each call', async () => {
    const server = await startFaultServer(() => STORED);
    let asked = 0;
    const client = clientFor(server.address, { token: () => `number-${++asked}` });
    await client.getRoute('x');
    await client.getRoute('x');
    expect(server.tokens).toEqual(['Bearer number-1', 'Bearer number-2']);
  });

  it('is replaced once if refused, and the call is retried with its request id', async () => {
    const server = await startFaultServer(accepting('new'));
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

  it('fails the call if its replacement is refused too', async () => {
    const server = await startFaultServer(() => REFUSED);
    let asked = 0;
    const client = clientFor(server.address, { token: () => `number-${++asked}` });
    const failure = await failureOf(client.getRoute('x'));
    expect(failure).toMatchObject({ status: 'UNAUTHENTICATED', message: 'The token has expired.' });
    expect(server.received).toHaveLength(2);
  });

  it.each<{ kind: string; token: TokenSource }>([
    { kind: 'a string', token: 'old' },
    { kind: 'a function that returns the same token', token: () => 'old' },
  ])('is sent only once if refused without a replacement: $kind', async ({ token }) => {
    const server = await startFaultServer(() => REFUSED);
    const failure = await failureOf(clientFor(server.address, { token }).getRoute('x'));
    expect(failure.status).toBe('UNAUTHENTICATED');
    expect(server.received).toHaveLength(1);
  });

  it('is not requested again after a failure other than UNAUTHENTICATED', async () => {
    const server = await startFaultServer(() => ({ code: status.PERMISSION_DENIED, details: 'No.' }));
    let asked = 0;
    const client = clientFor(server.address, { token: () => `number-${++asked}` });
    await failureOf(client.getRoute('x'));
    expect(asked).toBe(1);
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

  it('fails the call if it throws when called again', async () => {
    const server = await startFaultServer(() => REFUSED);
    const cause = new Error('The issuer is away.');
    const token = vi
      .fn<(refused?: string) => string>()
      .mockReturnValueOnce('old')
      .mockImplementation(() => {
        throw cause;
      });
    expect(await failureOf(clientFor(server.address, { token }).getRoute('x'))).toMatchObject({ cause });
  });

  it.each([
    { returned: 'secret\nx-admin: yes', why: 'it contains a line break' },
    { returned: 'Bearer secret', why: 'the client adds the scheme' },
    { returned: '', why: 'it is empty' },
    { returned: undefined as unknown as string, why: 'it is not a string' },
  ])(
    'fails the call if it returns no token, with an error that does not show the value: $why',
    async ({ returned }) => {
      const failure = await failureOf(clientFor('127.0.0.1:1', { token: () => returned }).getRoute('x'));
      expect(failure.status).toBe('UNAUTHENTICATED');
      expect(failure.message).toContain('not a bearer token');
      expect(`${failure.stack}${JSON.stringify(failure)}${String(failure.cause)}`).not.toContain('secret');
    },
  );

  it('fails the call at its deadline if it takes too long', async () => {
    const client = clientFor('127.0.0.1:1', { token: () => new Promise(() => undefined) });
    const failure = await failureOf(client.getRoute('x', { timeoutMs: 50 }));
    expect(failure).toMatchObject({
      status: 'DEADLINE_EXCEEDED',
      message: 'Deadline exceeded after 50 ms, waiting for a token.',
    });
  });

  it('that takes too long does not keep a signal from cancelling the call', async () => {
    const client = clientFor('127.0.0.1:1', { token: () => new Promise(() => undefined) });
    const failure = await failureOf(client.getRoute('x', { signal: AbortSignal.timeout(20) }));
    expect(failure.status).toBe('CANCELLED');
    expect(failure.cause).toMatchObject({ name: 'TimeoutError' });
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
