import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { type Answer, type Received, startFaultServer, STORED } from './support/fault-server.js';
import { answer, startHttp2Server } from './support/http2-server.js';
import { clientFor, DEFINITION, failureOf } from './support/test-client.js';

/** Other tests take the processor. */
const PATIENT = { timeout: 20_000 };

/** Answers gets, and never creates. */
function getsOnly({ method }: Received): Answer {
  return method === 'GetRoute' ? STORED : 'never';
}

function times<Value>(count: number, make: () => Value): Value[] {
  return Array.from({ length: count }, make);
}

describe('the calls of a client', () => {
  it('are at most 100 at once on a connection; the others are sent as these end', async () => {
    let open: (answer: Answer) => void = () => undefined;
    const gate = new Promise<Answer>((resolve) => {
      open = resolve;
    });
    const server = await startFaultServer(({ method }) => (method === 'GetRoute' ? gate : STORED));
    const client = clientFor(server.address);
    const calls = Promise.all(times(250, () => client.getRoute('x')));
    await expect.poll(() => server.ids.length, PATIENT).toBe(100);
    // What was sent before has arrived.
    await client.createRoute(DEFINITION);
    expect(server.ids).toHaveLength(100);
    open(STORED);
    await expect(calls).resolves.toHaveLength(250);
    expect(server.ids).toHaveLength(250);
  });

  it('leave at their deadline or abort while they wait, and are never sent', async () => {
    const server = await startFaultServer(({ metadata }) =>
      metadata.get('x-request-id')[0] === 'next' ? STORED : 'never',
    );
    const client = clientFor(server.address);
    const controller = new AbortController();
    const ahead = times(100, () =>
      client.getRoute('ahead', { signal: controller.signal, timeoutMs: 60_000 }).catch(String),
    );
    await expect.poll(() => server.received.length, PATIENT).toBe(100);
    expect(await failureOf(client.getRoute('late', { timeoutMs: 50 }))).toMatchObject({
      status: 'DEADLINE_EXCEEDED',
      message: 'Deadline exceeded after 50 ms, waiting for one of 100 calls under way to end.',
    });
    const signal = AbortSignal.timeout(20);
    expect((await failureOf(client.getRoute('gone', { signal }))).status).toBe('CANCELLED');
    const next = client.getRoute('next', { requestId: 'next', timeoutMs: 60_000 });
    controller.abort();
    await Promise.all([...ahead, next]);
    expect(new Set(server.ids)).toEqual(new Set(['ahead', 'next']));
  });

  it('are refused while 5,000 others wait', async () => {
    const client = clientFor('127.0.0.1:1', { token: 'x' });
    const outcomes = await Promise.all(times(5_101, () => failureOf(client.getRoute('x', { timeoutMs: 1 }))));
    const refused = outcomes.filter((each) => each.status === 'RESOURCE_EXHAUSTED');
    expect(refused.map(({ message }) => message)).toEqual(['5000 calls wait in the client.']);
  });

  it('finish after a close, also those that wait', async () => {
    const server = await startFaultServer(() => STORED);
    const client = clientFor(server.address);
    const calls = Promise.all(times(150, () => client.getRoute('x')));
    client.close();
    await expect(calls).resolves.toHaveLength(150);
  });

  it('may all share a signal, without a warning of Node', async () => {
    const server = await startFaultServer(() => STORED);
    const client = clientFor(server.address);
    const { signal } = new AbortController();
    const warnings: Error[] = [];
    process.on('warning', (warning) => warnings.push(warning));
    await Promise.all(times(20, () => client.getRoute('x', { signal })));
    expect(warnings).toEqual([]);
  });
});

describe('the reset of a call', () => {
  it('waits beyond 100 at once, since servers end connections with more', async () => {
    const server = await startFaultServer(() => 'never');
    const client = clientFor(server.address);
    for (const before of [0, 100]) {
      const controller = new AbortController();
      const calls = times(100, () => failureOf(client.getRoute('x', { signal: controller.signal })));
      await expect.poll(() => server.received.length - before, PATIENT).toBe(100);
      controller.abort();
      expect(new Set((await Promise.all(calls)).map((each) => each.status))).toEqual(new Set(['CANCELLED']));
    }
    const cancelled = (): number => server.received.filter((each) => each.cancelled()).length;
    await expect.poll(cancelled, PATIENT).toBeGreaterThan(101);
    expect(cancelled()).toBeLessThan(150);
  });

  it('comes a second after its deadline, if the server has not ended the call', async () => {
    let closedAt = 0;
    const { address } = await startHttp2Server(
      (_session, stream) => {
        answer(stream, status.NOT_FOUND);
      },
      (_session, stream) => {
        stream.resume().on('close', () => {
          closedAt = performance.now();
        });
      },
    );
    const client = clientFor(address);
    // There is a connection.
    await failureOf(client.getRoute('x'));
    expect((await failureOf(client.getRoute('x', { timeoutMs: 100 }))).status).toBe('DEADLINE_EXCEEDED');
    const failedAt = performance.now();
    await expect.poll(() => closedAt, PATIENT).toBeGreaterThan(0);
    expect(closedAt - failedAt).toBeGreaterThan(900);
  });
});

describe('gets and creates', () => {
  it('share a connection until they overlap', async () => {
    const server = await startFaultServer(() => STORED);
    const client = clientFor(server.address);
    await client.createRoute(DEFINITION);
    await client.getRoute('x');
    await client.createRoute(DEFINITION);
    expect(new Set(server.received.map(({ peer }) => peer)).size).toBe(1);
  });

  it.each([
    { first: 'creates', count: 300 },
    { first: 'a get', count: 0 },
  ])(
    'have a connection each once they overlap, so that slow creates delay no gets: $first first',
    async ({ count }) => {
      const server = await startFaultServer(getsOnly);
      const client = clientFor(server.address);
      const controller = new AbortController();
      const create = () => client.createRoute(DEFINITION, { signal: controller.signal }).catch(String);
      const creates = times(count, create);
      const get = client.getRoute('x');
      creates.push(...times(300 - count, create));
      await get;
      for (const id of times(20, () => 'x')) await client.getRoute(id);
      await expect.poll(() => server.creates.length, PATIENT).toBe(100);
      const peersOf = (method: string): Set<string> =>
        new Set(server.received.filter((each) => each.method === method).map(({ peer }) => peer));
      const [gets, others] = [peersOf('GetRoute'), peersOf('CreateRoute')];
      expect([gets.size, others.size, new Set([...gets, ...others]).size]).toEqual([1, 1, 2]);
      controller.abort();
      await Promise.all(creates);
    },
  );
});
