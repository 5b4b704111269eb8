import { once } from 'node:events';
import { type ClientHttp2Session, constants, type IncomingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import { Metadata, type ServerInterceptingCallInterface, status } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Authenticator } from '../../src/auth/authenticator.js';
import type { Call } from '../../src/calls/call.js';
import { TIMEOUT_MS_KEY } from '../../src/grpc/call-headers.js';
import { GrpcJsCall } from '../../src/grpc/unary-call.js';
import type { BytesMethod } from '../support/bytes-method.js';
import { firstBlock } from '../../bench/load/hpack.js';
import { FrameConnection } from '../support/frame-connection.js';
import {
  ACK,
  DATA,
  END_STREAM,
  grpcHead,
  uint32,
  PING,
  RST_STREAM,
  socketTo,
} from '../support/http2-frames.js';
import { frameMessage, outcomeOf, requestOn } from '../support/http2-call.js';
import {
  connectTo,
  ECHO,
  GUARDED,
  SLOW,
  startTestServer,
  type TestServerOptions,
} from '../support/test-grpc-server.js';

const UNKNOWN = '/test.Service/Unknown';
const MESSAGE = frameMessage(Buffer.from('m'));

/** Starts a test server that soon resets what nobody reads. `log` returns the logged calls: their paths and codes. */
async function start(options: TestServerOptions = {}) {
  const server = await startTestServer({ times: { resetMs: 50, checkMs: 5 }, ...options });
  return { ...server, log: () => server.log.map(({ path, code }) => `${String(path)} ${String(code)}`) };
}

/** Resolves when the server has read everything sent earlier on the connection. */
async function roundTrip(session: ClientHttp2Session): Promise<void> {
  const { code } = await outcomeOf(requestOn(session, ECHO).end(MESSAGE));
  expect(code).toBe(status.OK);
}

const admitted: Authenticator = {
  authenticate: () => ({
    ok: true,
    caller: { subject: 'me', scopes: new Set(['s']) },
    rememberUntilMs: Number.MAX_SAFE_INTEGER,
  }),
};
const half = MESSAGE.subarray(0, 5);

describe('a call whose request is incomplete', () => {
  it.each([
    ['without a token', {}, GUARDED, status.UNAUTHENTICATED],
    ['with a token', { authenticator: admitted }, GUARDED, status.OK],
  ])('is answered only once the request is complete: %s', async (_, options, path, code) => {
    const server = await start(options);
    const session = connectTo(server);
    const stream = requestOn(session, path);
    const order: string[] = [];
    stream.once('response', () => order.push('answered'));
    stream.write(half);
    await roundTrip(session);
    stream.write(MESSAGE.subarray(5));
    await roundTrip(session);
    order.push('ended');
    expect((await outcomeOf(stream.end())).code).toBe(code);
    expect(order).toEqual(['ended', 'answered']);
  });

  it('runs neither the guard nor the method', async () => {
    const ran: string[] = [];
    const authenticator: Authenticator = {
      authenticate: (tokens) => {
        ran.push('guard');
        return admitted.authenticate(tokens);
      },
    };
    const handle: BytesMethod['handle'] = (message) => {
      ran.push('method');
      return message;
    };
    const session = connectTo(await start({ authenticator, handle }));
    const stream = requestOn(session, GUARDED);
    stream.write(MESSAGE);
    await roundTrip(session);
    expect(ran).toEqual([]);
    expect((await outcomeOf(stream.end())).code).toBe(status.OK);
    expect(ran).toEqual(['guard', 'method']);
  });

  it('does not count against the limit on calls', async () => {
    const session = connectTo(await start({ authenticator: admitted, limits: { maxCalls: 1 } }));
    const stream = requestOn(session, GUARDED).on('error', () => undefined);
    stream.write(half);
    expect((await outcomeOf(requestOn(session, GUARDED).end(MESSAGE))).code).toBe(status.OK);
  });

  it.each([
    ['its own deadline', 60_000, { 'grpc-timeout': '50m' }],
    ["the server's deadline", 50, {}],
  ])('is answered and logged at %s', async (_, deadlineMs, headers) => {
    const server = await start({ authenticator: admitted, limits: { deadlineMs } });
    const stream = requestOn(connectTo(server), GUARDED, { 'x-request-id': 'n', ...headers });
    stream.write(half);
    const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    expect(answer).toMatchObject({ 'grpc-status': String(status.DEADLINE_EXCEEDED), 'x-request-id': 'n' });
    expect(server.log()).toEqual([`${GUARDED} DEADLINE_EXCEEDED`]);
  });

  it('is reset some time after its deadline', async () => {
    const server = await start({ authenticator: admitted, limits: { deadlineMs: 50 } });
    const stream = requestOn(connectTo(server), GUARDED).on('error', () => undefined);
    stream.write(half);
    stream.resume();
    await new Promise((resolve) => stream.once('close', resolve));
    expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
  });

  it('does not keep the server from closing', async () => {
    const server = await start({ authenticator: admitted });
    const session = connectTo(server);
    requestOn(session, GUARDED, { 'grpc-timeout': '50m' })
      .on('error', () => undefined)
      .write(half);
    await roundTrip(session);
    await server.close(5_000);
    expect(server.log()).toContain(`${GUARDED} DEADLINE_EXCEEDED`);
  });
});

describe('a call whose stream is reset before its end', () => {
  /** Sends a whole message without an end, then whatever `leave` sends. */
  const leaving = async (leave: (connection: FrameConnection, stream: number, socket: Socket) => void) => {
    const ran: string[] = [];
    const handle: BytesMethod['handle'] = (message) => {
      ran.push('method');
      return message;
    };
    const server = await start({ authenticator: admitted, handle });
    const socket = socketTo(server.address);
    onTestFinished(() => void socket.destroy());
    const arrived = new Promise<void>((resolve) => {
      const connection = new FrameConnection(socket, {}, ({ type, flags }) => {
        if (type !== PING || (flags & ACK) === 0) return;
        leave(connection, 1, socket);
        resolve();
      });
      const stream = connection.begin(firstBlock(grpcHead(GUARDED)));
      connection.send(DATA, 0, stream, MESSAGE);
      connection.send(PING, 0, 0, Buffer.alloc(8));
    });
    await arrived;
    await expect.poll(server.log).toHaveLength(1);
    return { ran, log: server.log() };
  };
  const reset = (code: number) => (connection: FrameConnection, stream: number) => {
    connection.send(RST_STREAM, 0, stream, uint32(code));
  };

  it.each([
    ['with CANCEL', reset(constants.NGHTTP2_CANCEL)],
    ['without an error', reset(constants.NGHTTP2_NO_ERROR)],
    [
      "by Node's client, which ends the stream first",
      (connection: FrameConnection, stream: number) => {
        connection.send(DATA, END_STREAM, stream, Buffer.alloc(0));
        connection.send(RST_STREAM, 0, stream, uint32(constants.NGHTTP2_CANCEL));
      },
    ],
    [
      'together with its connection',
      (_: FrameConnection, __: number, socket: Socket) => {
        socket.destroy();
      },
    ],
  ])('is never executed, and is logged as cancelled: %s', async (_, leave) => {
    expect(await leaving(leave)).toEqual({ ran: [], log: [`${GUARDED} CANCELLED`] });
  });
});

describe('a call that grpc-js ends before it is complete', () => {
  it.each([
    ['a message of more than twice the limit', {}, frameMessage(Buffer.alloc(150_000)), 'RESOURCE_EXHAUSTED'],
    [
      'a compressed message that is not',
      { 'grpc-encoding': 'gzip' },
      frameMessage(Buffer.from('x'), true),
      'INTERNAL',
    ],
    [
      'an unknown encoding',
      { 'grpc-encoding': 'zstd' },
      frameMessage(Buffer.from('x'), true),
      'UNIMPLEMENTED',
    ],
    ['an invalid timeout', { 'grpc-timeout': 'soon' }, Buffer.alloc(0), 'INTERNAL'],
  ] as const)('is logged with the code that its client gets: %s', async (_, headers, body, code) => {
    const server = await start({ authenticator: admitted });
    const outcome = await outcomeOf(requestOn(connectTo(server), GUARDED, headers).end(body));
    expect(outcome.code).toBe(status[code]);
    expect(server.log()).toEqual([`${GUARDED} ${code}`]);
  });
});

describe('a call of an unknown method', () => {
  it('is answered after its first message, since a streaming client may wait for a response', async () => {
    const server = await start();
    const stream = requestOn(connectTo(server), UNKNOWN);
    stream.write(MESSAGE);
    const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    expect(answer['grpc-status']).toBe(String(status.UNIMPLEMENTED));
    expect(server.log()).toEqual([`${UNKNOWN} UNIMPLEMENTED`]);
  });
});

describe('a call whose client cancels', () => {
  it('ends with CANCELLED, whatever its method waits for', async () => {
    const server = await start();
    const session = connectTo(server);
    const stream = requestOn(session, SLOW).end(MESSAGE);
    await roundTrip(session);
    stream.close(constants.NGHTTP2_CANCEL);
    await expect.poll(server.log).toEqual([`${ECHO} OK`, `${SLOW} CANCELLED`]);
  });
});

describe('a completed call', () => {
  it('leaves no timer behind, even if its message came late', async () => {
    const timers = (): number =>
      process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const server = await start();
    const session = connectTo(server);
    await roundTrip(session);
    const before = timers();
    const streams = Array.from({ length: 20 }, () => requestOn(session, ECHO));
    const outcomes = streams.map(outcomeOf);
    // A connection has one or two timers of its own.
    await expect.poll(timers).toBeGreaterThan(before + 15);
    for (const stream of streams) stream.end(MESSAGE);
    expect((await Promise.all(outcomes)).map(({ code }) => code)).toEqual(Array(20).fill(status.OK));
    await expect.poll(timers).toBeLessThan(before + 5);
  });
});

describe('the deadline of a call', () => {
  it.each([
    ["the client's", 2_000, 60_000],
    ["the server's", 60_000, 2_000],
  ])('does not move when the wall clock jumps: %s', async (_, ownMs, deadlineMs) => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const innermost = {
      startRead: () => undefined,
      sendStatus: () => undefined,
    } as unknown as ServerInterceptingCallInterface;
    const asked: Call[] = [];
    const pipeline = (call: Call) => {
      asked.push(call);
      return { code: status.OK, details: '', trailers: new Metadata() };
    };
    const begun = performance.now();
    const call = new GrpcJsCall(ECHO, innermost, pipeline, deadlineMs, {
      sentHeaders: {},
    });
    vi.setSystemTime(Date.now() + 3_600_000);
    const metadata = new Metadata();
    metadata.set(TIMEOUT_MS_KEY, String(ownMs));
    call.onReceiveMetadata(metadata);
    call.onReceiveMessage(Buffer.from(''));
    call.onReceiveHalfClose();
    await new Promise((resolve) => setImmediate(resolve));
    expect(asked[0]?.deadline).toBeGreaterThanOrEqual(begun + 1_999);
    expect(asked[0]?.deadline).toBeLessThanOrEqual(performance.now() + 2_000);
  });
});
