import { getEventListeners } from 'node:events';
import { constants, type ServerHttp2Session } from 'node:http2';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { type Answer, AWAY, startFaultServer, STORED } from './support/fault-server.js';
import { answer, startHttp2Server } from './support/http2-server.js';
import { clientFor, DEFINITION, failureOf } from './support/test-client.js';

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
    { code: status.INTERNAL, why: 'the cause is unknown' },
    { code: status.DEADLINE_EXCEEDED, why: 'no time is left' },
    { code: status.CANCELLED, why: 'nobody waits for the result' },
  ])('is not retried after code $code: $why', async ({ code }) => {
    const server = await startFaultServer(() => ({ code, details: 'No.' }));
    await failureOf(clientFor(server.address).createRoute(DEFINITION));
    expect(server.creates).toHaveLength(1);
  });

  it('is retried even if the response has begun, since its key makes that safe', async () => {
    const server = await startFaultServer(
      failing(1, { code: status.UNAVAILABLE, details: 'Away.', headersFirst: true }),
    );
    await expect(clientFor(server.address).createRoute(DEFINITION)).resolves.toMatchObject(DEFINITION);
    expect(server.creates).toHaveLength(2);
  });

  describe.each([
    ['too many pings', constants.NGHTTP2_ENHANCE_YOUR_CALM],
    ['an internal error', constants.NGHTTP2_INTERNAL_ERROR],
    ['no error', constants.NGHTTP2_NO_ERROR],
  ])('whose connection is ended because of %s', (_, code) => {
    const end = (session: ServerHttp2Session): void => {
      session.goaway(code, 2 ** 31 - 1, Buffer.from('too_many_pings'));
      setImmediate(() => {
        session.destroy();
      });
    };
    const channelOptions = { 'grpc.keepalive_time_ms': -1 };

    it('is retried on another', async () => {
      const { address } = await startHttp2Server(end, (_session, stream) => {
        answer(stream, status.NOT_FOUND);
      });
      const failure = await failureOf(clientFor(address, { channelOptions }).createRoute(DEFINITION));
      expect(failure.status).toBe('NOT_FOUND');
    });

    it('fails with UNAVAILABLE after four attempts', async () => {
      const server = await startHttp2Server(end);
      const client = clientFor(server.address, { channelOptions });
      expect(await failureOf(client.createRoute(DEFINITION))).toMatchObject({
        code: status.UNAVAILABLE,
        status: 'UNAVAILABLE',
        reason: undefined,
      });
      expect(server.streams()).toBe(4);
    });
  });

  it('is retried on another connection if its own breaks within the response', async () => {
    const { address } = await startHttp2Server(
      (session, stream) => {
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
        stream.write(framed(STORED), () => {
          session.destroy();
        });
      },
      (_session, stream) => {
        answer(stream, status.NOT_FOUND);
      },
    );
    expect((await failureOf(clientFor(address).createRoute(DEFINITION))).status).toBe('NOT_FOUND');
  });

  it.each([
    ['an unknown compression', { 'grpc-encoding': 'snappy' }],
    ['a compression that is not declared', {}],
  ])('fails with INTERNAL if its reply has %s', async (_, encoding) => {
    const { address } = await startHttp2Server((_session, stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...encoding });
      stream.end(framed(STORED, 1));
    });
    expect(await failureOf(clientFor(address).createRoute(DEFINITION))).toMatchObject({
      code: status.INTERNAL,
      status: 'INTERNAL',
      message: 'The reply is compressed in a way that is not supported, or not declared.',
    });
  });

  it('fails with INTERNAL if a proxy answers with a page', async () => {
    const { address } = await startHttp2Server((_session, stream) => {
      stream.respond({ ':status': 400, 'content-type': 'text/html' });
      stream.end('<p>Bad request');
    });
    const failure = await failureOf(clientFor(address).createRoute(DEFINITION));
    expect(failure).toMatchObject({ status: 'INTERNAL' });
  });

  it('is sent again after REFUSED_STREAM, which does not count as an attempt', async () => {
    const { address, streams } = await startHttp2Server(
      (_session, stream) => {
        stream.close(constants.NGHTTP2_REFUSED_STREAM);
      },
      (_session, stream) => {
        answer(stream, status.UNAVAILABLE);
      },
    );
    await failureOf(clientFor(address).createRoute(DEFINITION));
    expect(streams()).toBe(5);
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

  it('ends the attempts if it is no number', async () => {
    const trailers = { 'grpc-retry-pushback-ms': 'soon' };
    const server = await startFaultServer(() => ({ code: status.UNAVAILABLE, details: 'No.', trailers }));
    await failureOf(clientFor(server.address).createRoute(DEFINITION));
    expect(server.received).toHaveLength(1);
  });

  it('does not extend the deadline', async () => {
    const server = await startFaultServer(() => pushback(60_000));
    const failure = await failureOf(clientFor(server.address).createRoute(DEFINITION, { timeoutMs: 300 }));
    expect(failure).toMatchObject({
      status: 'DEADLINE_EXCEEDED',
      reason: undefined,
      message:
        'Deadline exceeded after 300 ms, waiting for the next attempt (RESOURCE_EXHAUSTED: Too many calls.).',
    });
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

  it('is shared by all clients of a target', async () => {
    const server = await startFaultServer(() => AWAY);
    const callAtOnce = (calls: number): Promise<unknown> =>
      Promise.all(Array.from({ length: calls }, () => clientFor(server.address).getRoute('x').catch(String)));
    await callAtOnce(15);
    const before = server.received.length;
    expect(before).toBe(60);
    await callAtOnce(2);
    expect(server.received.length - before).toBe(2);
  });
});

/** A message as gRPC frames it. */
function framed(message: Buffer, compressed = 0): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(compressed);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
