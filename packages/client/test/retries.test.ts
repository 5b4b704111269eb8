import { getEventListeners, once } from 'node:events';
import { constants, createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { status } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Answer, startFaultServer, STORED } from './support/fault-server.js';
import { clientFor, DEFINITION, failureOf } from './support/test-client.js';

const AWAY: Answer = { code: status.UNAVAILABLE, details: 'The database is away.' };

/** Fails the given number of calls, then succeeds. */
function failing(times: number, failure: Answer): (received: unknown, earlier: number) => Answer {
  return (_received, earlier) => (earlier < times ? failure : STORED);
}

function pushback(ms: number): Answer {
  const trailers = { 'grpc-retry-pushback-ms': String(ms) };
  return { code: status.RESOURCE_EXHAUSTED, details: 'Too many calls.', trailers };
}

describe('a create', () => {
  it.each([status.UNAVAILABLE, status.RESOURCE_EXHAUSTED])(
    'is retried with the same request id after code %i, up to four attempts',
    async (code) => {
      const server = await startFaultServer(failing(3, { code, details: 'Not now.' }));
      await expect(clientFor(server.address).createRoute(DEFINITION)).resolves.toMatchObject(DEFINITION);
      expect(server.creates).toHaveLength(4);
      expect(new Set(server.creates.map(({ requestId }) => requestId)).size).toBe(1);
    },
  );

  it('fails after four attempts, with pauses of 0.1, 0.2 and 0.4 s, each ±20%', async () => {
    const server = await startFaultServer(() => AWAY);
    const failure = await failureOf(clientFor(server.address).createRoute(DEFINITION));
    expect(failure).toMatchObject({ status: 'UNAVAILABLE', message: 'The database is away.' });
    for (const [index, pause] of server.pauses.entries()) {
      expect(pause).toBeGreaterThanOrEqual(79 * 2 ** index);
      expect(pause).toBeLessThan(121 * 2 ** index + 1_000);
    }
  });

  it.each([
    { code: status.INVALID_ARGUMENT, why: 'the result would be the same' },
    { code: status.NOT_FOUND, why: 'the result would be the same' },
    { code: status.ALREADY_EXISTS, why: 'the result would be the same' },
    { code: status.PERMISSION_DENIED, why: 'the result would be the same' },
    { code: status.INTERNAL, why: 'the cause is unknown' },
    { code: status.DEADLINE_EXCEEDED, why: 'no time is left' },
    { code: status.CANCELLED, why: 'nobody waits for the result' },
  ])('is not retried after code $code: $why', async ({ code }) => {
    const server = await startFaultServer(() => ({ code, details: 'No.' }));
    await failureOf(clientFor(server.address).createRoute(DEFINITION));
    expect(server.creates).toHaveLength(1);
  });

  it('is not retried once the response has begun', async () => {
    const server = await startFaultServer(() => ({ ...AWAY, headersFirst: true }));
    await failureOf(clientFor(server.address).createRoute(DEFINITION));
    expect(server.creates).toHaveLength(1);
  });

  it('is retried on another connection if its own breaks', async () => {
    const address = await startHttp2Server((session, stream, earlier) => {
      if (earlier === 0) session.destroy();
      else answer(stream, status.NOT_FOUND);
    });
    const failure = await failureOf(clientFor(address).createRoute(DEFINITION));
    expect(failure.status).toBe('NOT_FOUND');
  });

  it.each([
    ['too many pings', constants.NGHTTP2_ENHANCE_YOUR_CALM],
    ['an internal error', constants.NGHTTP2_INTERNAL_ERROR],
    ['no error', constants.NGHTTP2_NO_ERROR],
  ])('fails with UNAVAILABLE if each of its connections is ended because of %s', async (_, code) => {
    const address = await startHttp2Server((session) => {
      session.goaway(code, 2 ** 31 - 1, Buffer.from('too_many_pings'));
      setImmediate(() => {
        session.destroy();
      });
    });
    const client = clientFor(address, { channelOptions: { 'grpc.keepalive_time_ms': -1 } });
    expect(await failureOf(client.createRoute(DEFINITION))).toMatchObject({
      code: status.UNAVAILABLE,
      status: 'UNAVAILABLE',
      reason: undefined,
    });
  });

  it('fails with INTERNAL if a proxy answers with a page', async () => {
    const address = await startHttp2Server((_session, stream) => {
      stream.respond({ ':status': 400, 'content-type': 'text/html' });
      stream.end('<p>Bad request');
    });
    const failure = await failureOf(clientFor(address).createRoute(DEFINITION));
    expect(failure).toMatchObject({ status: 'INTERNAL' });
  });

  it('is sent again after REFUSED_STREAM, which does not count as an attempt', async () => {
    let streams = 0;
    const address = await startHttp2Server((_session, stream, earlier) => {
      streams++;
      if (earlier === 0) stream.close(constants.NGHTTP2_REFUSED_STREAM);
      else answer(stream, status.UNAVAILABLE);
    });
    await failureOf(clientFor(address).createRoute(DEFINITION));
    expect(streams).toBe(5);
  });
});

describe("the server's pushback", () => {
  it('sets the pause before the next attempt', async () => {
    const server = await startFaultServer(failing(1, pushback(600)));
    await clientFor(server.address).createRoute(DEFINITION);
    expect(server.pauses).toHaveLength(1);
    expect(server.pauses[0]).toBeGreaterThan(590);
  });

  it('ends the attempts if it is negative', async () => {
    const server = await startFaultServer(() => pushback(-1));
    await failureOf(clientFor(server.address).createRoute(DEFINITION));
    expect(server.received).toHaveLength(1);
  });

  it('does not extend the deadline', async () => {
    const server = await startFaultServer(() => pushback(60_000));
    const failure = await failureOf(clientFor(server.address).createRoute(DEFINITION, { timeoutMs: 300 }));
    expect(failure).toMatchObject({ status: 'DEADLINE_EXCEEDED', reason: undefined });
  });
});

describe('the deadline', () => {
  it('covers all attempts together', async () => {
    const server = await startFaultServer((_received, earlier) => (earlier < 2 ? AWAY : 'never'));
    const failure = await failureOf(clientFor(server.address).getRoute('x', { timeoutMs: 700 }));
    expect(failure.status).toBe('DEADLINE_EXCEEDED');
    const [first = 0, , third = 0] = server.received.map(({ timeoutMs }) => timeoutMs);
    expect(first - third).toBeGreaterThan(230);
  });
});

describe('an abort signal', () => {
  it('cancels a call in progress, also on the server', async () => {
    const server = await startFaultServer(() => 'never');
    const controller = new AbortController();
    const call = failureOf(clientFor(server.address).getRoute('x', { signal: controller.signal }));
    await expect.poll(() => server.received.length).toBe(1);
    const reason = new Error('The user has left.');
    controller.abort(reason);
    expect(await call).toMatchObject({ status: 'CANCELLED', code: status.CANCELLED, cause: reason });
    await expect.poll(() => server.received[0]?.cancelled()).toBe(true);
  });

  it('stops further attempts', async () => {
    const server = await startFaultServer((_received, earlier) => (earlier < 2 ? pushback(300) : STORED));
    const client = clientFor(server.address);
    const controller = new AbortController();
    const call = failureOf(client.getRoute('x', { signal: controller.signal }));
    await expect.poll(() => server.received.length).toBe(1);
    controller.abort();
    expect((await call).status).toBe('CANCELLED');
    // This retry comes after the same pause, started later: a retry of the get would have come before.
    await client.createRoute(DEFINITION);
    expect(server.creates).toHaveLength(2);
    expect(server.ids).toHaveLength(1);
  });

  it('that is already aborted keeps a call from being sent', async () => {
    const server = await startFaultServer(() => STORED);
    const signal = AbortSignal.abort('too late');
    const failure = await failureOf(clientFor(server.address).getRoute('x', { signal }));
    expect(failure).toMatchObject({ status: 'CANCELLED', cause: 'too late' });
    expect(server.received).toEqual([]);
  });

  it('has no listeners left after its calls', async () => {
    const server = await startFaultServer(() => STORED);
    const { signal } = new AbortController();
    await clientFor(server.address).getRoute('x', { signal });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('the throttle', () => {
  it('stops retries after more than fifty failed attempts, not before', async () => {
    const server = await startFaultServer(() => AWAY);
    const client = clientFor(server.address);
    const callAtOnce = (calls: number): Promise<unknown> =>
      Promise.all(Array.from({ length: calls }, () => failureOf(client.getRoute('x'))));
    await callAtOnce(10);
    // Ten calls, each with all of its four attempts.
    expect(server.received).toHaveLength(40);
    await callAtOnce(20);
    const before = server.received.length;
    await callAtOnce(5);
    expect(server.received.length - before).toBe(5);
  });
});

/** Starts a bare HTTP/2 server. `onStream` gets the number of earlier streams. Returns `host:port`. */
async function startHttp2Server(
  onStream: (session: ServerHttp2Session, stream: ServerHttp2Stream, earlier: number) => void,
): Promise<string> {
  const sessions = new Set<ServerHttp2Session>();
  let streams = 0;
  const server = createServer().on('session', (session) => {
    sessions.add(session);
    session.on('stream', (stream) => {
      onStream(
        session,
        stream.on('error', () => undefined),
        streams++,
      );
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Ends a call with a trailers-only response. */
function answer(stream: ServerHttp2Stream, code: status): void {
  const head = { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': String(code) };
  stream.respond(head, { endStream: true });
}
