import { getEventListeners, once } from 'node:events';
import { constants, createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { status } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Answer, startFaultServer, STORED } from './support/fault-server.js';
import { clientFor, DEFINITION, failureOf } from './support/test-client.js';

const AWAY: Answer = { code: status.UNAVAILABLE, details: 'The database is away.' };

/** Fails as often as told, and then answers. */
function failing(times: number, failure: Answer): (received: unknown, earlier: number) => Answer {
  return (_received, earlier) => (earlier < times ? failure : STORED);
}

function pushback(ms: number): Answer {
  const trailers = { 'grpc-retry-pushback-ms': String(ms) };
  return { code: status.RESOURCE_EXHAUSTED, details: 'Too many calls.', trailers };
}

describe('a create', () => {
  it.each([status.UNAVAILABLE, status.RESOURCE_EXHAUSTED])(
    'is repeated with the same request id after code %i, up to four attempts',
    async (code) => {
      const server = await startFaultServer(failing(3, { code, details: 'Not now.' }));
      await expect(clientFor(server.address).createRoute(DEFINITION)).resolves.toMatchObject(DEFINITION);
      expect(server.creates).toHaveLength(4);
      expect(new Set(server.creates.map(({ requestId }) => requestId)).size).toBe(1);
    },
  );

  it('that fails four times has failed, after pauses of 0.1, 0.2 and 0.4 s, a fifth more or less', async () => {
    const server = await startFaultServer(() => AWAY);
    const failure = await failureOf(clientFor(server.address).createRoute(DEFINITION));
    expect(failure).toMatchObject({ status: 'UNAVAILABLE', message: 'The database is away.' });
    for (const [index, pause] of server.pauses.entries()) {
      expect(pause).toBeGreaterThanOrEqual(79 * 2 ** index);
      expect(pause).toBeLessThan(121 * 2 ** index + 1_000);
    }
  });

  it.each([
    { code: status.INVALID_ARGUMENT, why: 'the same again' },
    { code: status.NOT_FOUND, why: 'the same again' },
    { code: status.ALREADY_EXISTS, why: 'the same again' },
    { code: status.PERMISSION_DENIED, why: 'the same again' },
    { code: status.INTERNAL, why: 'nobody knows what it is' },
    { code: status.DEADLINE_EXCEEDED, why: 'the time is over' },
    { code: status.CANCELLED, why: 'nobody waits' },
  ])('is not repeated after code $code: $why', async ({ code }) => {
    const server = await startFaultServer(() => ({ code, details: 'No.' }));
    await failureOf(clientFor(server.address).createRoute(DEFINITION));
    expect(server.creates).toHaveLength(1);
  });

  it('is not repeated once an answer has begun', async () => {
    const server = await startFaultServer(() => ({ ...AWAY, headersFirst: true }));
    await failureOf(clientFor(server.address).createRoute(DEFINITION));
    expect(server.creates).toHaveLength(1);
  });

  it('whose connection breaks is repeated on another', async () => {
    const address = await startHttp2Server((session, stream, earlier) => {
      if (earlier === 0) session.destroy();
      else answer(stream, status.NOT_FOUND);
    });
    const failure = await failureOf(clientFor(address).createRoute(DEFINITION));
    expect(failure.status).toBe('NOT_FOUND');
  });

  it('that a server has refused unseen is sent again, which counts as no attempt', async () => {
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
  it('is the pause before the next attempt', async () => {
    const server = await startFaultServer(failing(1, pushback(600)));
    await clientFor(server.address).createRoute(DEFINITION);
    expect(server.pauses).toHaveLength(1);
    expect(server.pauses[0]).toBeGreaterThan(590);
  });

  it('that is negative ends the attempts', async () => {
    const server = await startFaultServer(() => pushback(-1));
    await failureOf(clientFor(server.address).createRoute(DEFINITION));
    expect(server.received).toHaveLength(1);
  });

  it('does not outlast the deadline', async () => {
    const server = await startFaultServer(() => pushback(60_000));
    const failure = await failureOf(clientFor(server.address).createRoute(DEFINITION, { timeoutMs: 300 }));
    expect(failure).toMatchObject({ status: 'DEADLINE_EXCEEDED', reason: undefined });
  });
});

describe('the deadline', () => {
  it('holds for all attempts together', async () => {
    const server = await startFaultServer((_received, earlier) => (earlier < 2 ? AWAY : 'never'));
    const failure = await failureOf(clientFor(server.address).getRoute('x', { timeoutMs: 700 }));
    expect(failure.status).toBe('DEADLINE_EXCEEDED');
    const [first = 0, , third = 0] = server.received.map(({ timeoutMs }) => timeoutMs);
    expect(first - third).toBeGreaterThan(230);
  });
});

describe('a signal', () => {
  it('ends a call in progress, on the server, too', async () => {
    const server = await startFaultServer(() => 'never');
    const controller = new AbortController();
    const call = failureOf(clientFor(server.address).getRoute('x', { signal: controller.signal }));
    await expect.poll(() => server.received.length).toBe(1);
    const reason = new Error('The user has left.');
    controller.abort(reason);
    expect(await call).toMatchObject({ status: 'CANCELLED', code: status.CANCELLED, cause: reason });
    await expect.poll(() => server.received[0]?.cancelled()).toBe(true);
  });

  it('ends the attempts', async () => {
    const server = await startFaultServer((_received, earlier) => (earlier < 2 ? pushback(300) : STORED));
    const client = clientFor(server.address);
    const controller = new AbortController();
    const call = failureOf(client.getRoute('x', { signal: controller.signal }));
    await expect.poll(() => server.received.length).toBe(1);
    controller.abort();
    expect((await call).status).toBe('CANCELLED');
    // Repeated after the same pause, which begins later.
    await client.createRoute(DEFINITION);
    expect(server.creates).toHaveLength(2);
    expect(server.ids).toHaveLength(1);
  });

  it('that was there before the call keeps it from being sent', async () => {
    const server = await startFaultServer(() => STORED);
    const signal = AbortSignal.abort('too late');
    const failure = await failureOf(clientFor(server.address).getRoute('x', { signal }));
    expect(failure).toMatchObject({ status: 'CANCELLED', cause: 'too late' });
    expect(server.received).toEqual([]);
  });

  it('is left alone when its calls have ended', async () => {
    const server = await startFaultServer(() => STORED);
    const { signal } = new AbortController();
    await clientFor(server.address).getRoute('x', { signal });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('the throttle', () => {
  it('stops retries while more than fifty attempts have failed, and only then', async () => {
    const server = await startFaultServer(() => AWAY);
    const client = clientFor(server.address);
    const callAtOnce = (calls: number): Promise<unknown> =>
      Promise.all(Array.from({ length: calls }, () => failureOf(client.getRoute('x'))));
    await callAtOnce(10);
    // Ten calls of four attempts each have all been made.
    expect(server.received).toHaveLength(40);
    await callAtOnce(20);
    const before = server.received.length;
    await callAtOnce(5);
    expect(server.received.length - before).toBe(5);
  });
});

/** A server that answers with frames of HTTP/2, given how many streams came before. */
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

/** Ends a call by trailers alone. */
function answer(stream: ServerHttp2Stream, code: status): void {
  const head = { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': String(code) };
  stream.respond(head, { endStream: true });
}
