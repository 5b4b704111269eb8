import { EventEmitter, once } from 'node:events';
import { type ClientHttp2Session, connect, constants, createServer, type Http2Server } from 'node:http2';
import { type AddressInfo, connect as connectSocket, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { status } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Connections } from '../../src/grpc/connections.js';
import { WATCH_PATH } from '../../src/grpc/health.js';
import { firstBlock } from '../../bench/load/hpack.js';
import { beginCall, beginWatch, expectEcho, FAST_TIMES, MESSAGE } from '../support/connection-calls.js';
import { FrameConnection } from '../support/frame-connection.js';
import {
  ACK,
  DATA,
  frame,
  GOAWAY,
  grpcHead,
  uint32,
  PING,
  PREFACE,
  sendFields,
  SETTINGS,
} from '../support/http2-frames.js';
import { LIMITS } from '../support/grpc-limits.js';
import { frameMessage, outcomeOf, requestOn } from '../support/http2-call.js';
import { connectTo, type TestServer, ECHO, startTestServer, SLOW } from '../support/test-grpc-server.js';
import { watchTimers } from '../support/watched-timers.js';

const EMPTY_SETTINGS = frame(SETTINGS, 0, 0, Buffer.alloc(0));
const ACKNOWLEDGED = frame(SETTINGS, ACK, 0, Buffer.alloc(0));

/** The header block of a call that waits until the test completes it. */
const SLOW_CALL = firstBlock(grpcHead(SLOW));

/** For connections without the rest of the server. */
const OPTIONS = { ...LIMITS, ...FAST_TIMES, mostStreamsOfBusy: 8, mostStreamsOfAll: 8 };

/** With connections that are closed after 200 ms without calls and pings. */
const SOON_IDLE = { limits: { grpcIdleMs: 200 }, times: FAST_TIMES };

/** Starts an HTTP/2 server whose connections are managed, without the rest of the gRPC server. */
async function listenBare(): Promise<{ readonly address: string; readonly listener: Http2Server }> {
  const connections = new Connections(OPTIONS);
  const listener = createServer();
  onTestFinished(() => {
    listener.close();
    return connections.close(0);
  });
  connections.attach(listener);
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  const { port } = listener.address() as AddressInfo;
  return { address: `127.0.0.1:${port}`, listener };
}

/** Opens a TCP connection. It is destroyed when the test ends. @param allowHalfOpen as in `net.connect` */
function socketTo({ address }: Pick<TestServer, 'address'>, allowHalfOpen = false): Socket {
  const { hostname, port } = new URL(`http://${address}`);
  const socket = connectSocket({ host: hostname, port: Number(port), allowHalfOpen });
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** A connection whose frames the test writes itself, once the server's settings have come. */
async function framesTo(server: TestServer): Promise<FrameConnection> {
  const types = new EventEmitter();
  const connection = new FrameConnection(socketTo(server), {}, ({ type }) => void types.emit(String(type)));
  await once(types, String(SETTINGS));
  return connection;
}

/** A connection with an open watch, whose client does not acknowledge the server's settings and answers no ping. */
function silentWatch({ address }: TestServer): Socket {
  const socket = sendFields(address, grpcHead(WATCH_PATH)).on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Opens two streams on a connection where one is allowed, which is an error of the protocol. */
function breakStreamLimit(client: FrameConnection): void {
  for (let begun = 0; begun < 2; begun++) client.begin(SLOW_CALL);
}

/** Waits until the server has destroyed a connection. */
async function expectClosed(socket: Socket): Promise<void> {
  await new Promise((resolve) => socket.once('close', resolve).resume());
}

/** Waits until the server closes a connection gracefully. */
async function expectGoAway(session: ClientHttp2Session): Promise<void> {
  const [code] = (await once(session, 'goaway')) as [number];
  expect(code).toBe(constants.NGHTTP2_NO_ERROR);
}

/** Whether the server answers on a new connection. */
async function accepts(server: TestServer): Promise<boolean> {
  return expectEcho(connectTo(server)).then(
    () => true,
    () => false,
  );
}

/**
 * Expects that a connection outlives two others, opened one after the other, which the server closes as idle. They are
 * the clock of the test, so that it waits for longer where the server is slow.
 */
async function expectToOutliveIdle(session: ClientHttp2Session, server: TestServer): Promise<void> {
  let isClosed = false;
  session.once('goaway', () => (isClosed = true));
  for (let idle = 0; idle < 2; idle++) await once(connectTo(server), 'goaway');
  expect(isClosed).toBe(false);
}

/** Repeats an action until the test ends, or until the returned function is called. */
function repeatEvery(ms: number, action: () => void): () => void {
  const timer = setInterval(action, ms);
  const stop = (): void => {
    clearInterval(timer);
  };
  onTestFinished(stop);
  return stop;
}

/** A function that collects garbage. Without it, nobody knows when something that is not referenced is freed. */
function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  // A context made after the flag was set has `gc`.
  return runInNewContext('gc') as () => void;
}

// A connection is closed gracefully, with GOAWAY, or destroyed, without a word.
describe('a connection', () => {
  it('announces a maximum size of headers, which allows a token of 8 KiB', async () => {
    const session = connectTo(await startTestServer());
    await once(session, 'remoteSettings');
    expect(session.remoteSettings.maxHeaderListSize).toBe(16_384);

    const authorization = `Bearer ${'t'.repeat(8_192)}`;
    const { code } = await outcomeOf(requestOn(session, ECHO, { authorization }).end(MESSAGE));
    expect(code).toBe(status.OK);
  });

  it('is closed gracefully when its calls and watches have ended and it has been idle for long', async () => {
    const server = await startTestServer(SOON_IDLE);
    const session = connectTo(server);
    const watch = beginWatch(session);
    await once(watch, 'data');
    watch.close(constants.NGHTTP2_CANCEL);
    await expectEcho(session);

    await expectGoAway(session);
    await once(session, 'close');
  });

  it('stays open without calls while its client sends pings', async () => {
    const server = await startTestServer(SOON_IDLE);
    const session = connectTo(server);
    await expectEcho(session);

    const stopPings = repeatEvery(20, () => session.ping(() => undefined));
    await expectToOutliveIdle(session, server);

    stopPings();
    await expectGoAway(session);
  });

  it.each([
    { what: 'a call', path: SLOW },
    { what: 'a watch', path: WATCH_PATH },
  ])('stays open with $what, however silent it is', async ({ path }) => {
    const server = await startTestServer(SOON_IDLE);
    const session = connectTo(server);
    beginCall(session, path, frameMessage(new Uint8Array()));
    await expectToOutliveIdle(session, server);
  });

  it('is closed gracefully at its maximum age, even while its client sends pings', async () => {
    const server = await startTestServer({ limits: { grpcMaxAgeMs: 300 } });
    const session = connectTo(server);
    const stopPings = repeatEvery(50, () => session.ping(() => undefined));
    await expectGoAway(session);
    stopPings();
  });

  it.each([
    { what: 'nothing', bytes: '' },
    { what: 'only a part of the preface', bytes: 'PRI * HTTP/2' },
  ])('is destroyed if its client sends $what', async ({ bytes }) => {
    const server = await startTestServer({ times: FAST_TIMES });
    const socket = socketTo(server);
    socket.write(bytes);
    await expectClosed(socket);
  });

  it('is destroyed if its client does not acknowledge the settings, whatever else it does', async () => {
    const server = await startTestServer({ times: FAST_TIMES });
    const socket = silentWatch(server);
    repeatEvery(50, () => socket.write(frame(PING, 0, 0, Buffer.alloc(8))));
    await expectClosed(socket);
  });

  it('is destroyed if its client answers no ping, even during a call', async () => {
    const server = await startTestServer({
      times: { ...FAST_TIMES, keepaliveMs: 100, keepaliveTimeoutMs: 100 },
    });
    const socket = silentWatch(server);
    socket.write(ACKNOWLEDGED);
    await expectClosed(socket);
  });

  it('is destroyed if its client leaves it half-open after the server has closed it', async () => {
    const server = await startTestServer(SOON_IDLE);
    const halfOpen = socketTo(server, true);
    halfOpen.write(Buffer.concat([PREFACE, EMPTY_SETTINGS, ACKNOWLEDGED]));
    await once(halfOpen.resume(), 'end');
    // The client learns only from its writes that the server has destroyed its side.
    repeatEvery(50, () => halfOpen.write(EMPTY_SETTINGS));
    await expectClosed(halfOpen);
  });
});

describe('the end of a connection', () => {
  it('is reported if the client opens more streams than it may', async () => {
    const reasons: string[] = [];
    const server = await startTestServer({
      limits: { maxStreams: 1 },
      onConnectionError: (reason) => reasons.push(reason),
    });
    const client = await framesTo(server);
    breakStreamLimit(client);
    await expect.poll(() => reasons).toEqual(['Protocol error']);
  });

  it('is reported if the client sends too many empty frames', async () => {
    // Node counts them as invalid, and allows 1000 of these on a connection.
    const emptyFrames = 2_000;
    const reasons: string[] = [];
    const server = await startTestServer({ onConnectionError: (reason) => reasons.push(reason) });
    const client = await framesTo(server);
    const stream = client.begin(SLOW_CALL);
    for (let sent = 0; sent < emptyFrames; sent++) client.send(DATA, 0, stream, Buffer.alloc(0));
    await expect.poll(() => reasons).toEqual(['Too many invalid HTTP/2 frames']);
  });

  it('is not reported if the client closes or resets it', async () => {
    const reasons: string[] = [];
    const server = await startTestServer({
      limits: { maxStreams: 1 },
      onConnectionError: (reason) => reasons.push(reason),
    });
    const closing = await framesTo(server);
    const lastStream = 0;
    closing.send(GOAWAY, 0, 0, Buffer.concat([lastStream, constants.NGHTTP2_INTERNAL_ERROR].map(uint32)));
    const resetting = socketTo(server);
    resetting.write(PREFACE);
    await once(resetting, 'data');
    resetting.resetAndDestroy();
    await expectEcho(connectTo(server));

    // The first report is that of a later error.
    breakStreamLimit(await framesTo(server));
    await expect.poll(() => reasons).toEqual(['Protocol error']);
  });
});

it('a connection beyond the limit is refused until another has closed', async () => {
  const server = await startTestServer({ limits: { maxConnections: 1 } });
  const session = connectTo(server);
  await expectEcho(session);

  await expectClosed(socketTo(server));
  await expectEcho(session);

  session.destroy();
  await expect.poll(() => accepts(server)).toBe(true);
});

describe('a stream', () => {
  it('is not opened beyond the limit of its connection before another has ended', async () => {
    const server = await startTestServer({ limits: { maxStreams: 2 } });
    const session = connectTo(server);
    await once(session, 'remoteSettings');
    const calls = Array.from({ length: 3 }, () => outcomeOf(requestOn(session, SLOW).end(MESSAGE)));
    await server.waitingCalls(2);

    let isThirdOpen = false;
    void server.waitingCalls(3).then(() => (isThirdOpen = true));
    // The server answers the ping after it has read everything sent before.
    await promisify(session.ping.bind(session))();
    await setImmediate();
    expect(isThirdOpen).toBe(false);

    server.completeCalls();
    await server.waitingCalls(1);
    server.completeCalls();
    expect((await Promise.all(calls)).map(({ code }) => code)).toEqual([0, 0, 0]);
  });

  it('is reset after the maximum time of a call if its response is not read', async () => {
    const server = await startTestServer({ limits: { deadlineMs: 300 }, times: FAST_TIMES });
    const session = connect(`http://${server.address}`, { settings: { initialWindowSize: 10 } });
    onTestFinished(() => {
      session.destroy();
    });
    const stream = requestOn(session, ECHO).on('error', () => undefined);
    stream.end(frameMessage(Buffer.alloc(1_000))).pause();
    await expect.poll(() => stream.rstCode, { timeout: 3_000 }).toBe(constants.NGHTTP2_CANCEL);
  });
});

describe('streams beyond the limit of all connections', () => {
  it('are refused as safe to retry until others have ended', async () => {
    // 1.125 streams for each call that may be open: the server accepts streams while fewer than 4.5 are open.
    const server = await startTestServer({ limits: { maxCalls: 4 }, times: FAST_TIMES });
    const calls = Array.from({ length: 5 }, () => outcomeOf(requestOn(connectTo(server), SLOW).end(MESSAGE)));
    await server.waitingCalls(5);

    const refused = requestOn(connectTo(server), ECHO).on('error', () => undefined);
    refused.end(MESSAGE);
    await new Promise((resolve) => refused.once('close', resolve));
    expect(refused.rstCode).toBe(constants.NGHTTP2_REFUSED_STREAM);

    server.completeCalls();
    await Promise.all(calls);
    await expectEcho(connectTo(server));
  });
});

it('a session that its client resets before it has acknowledged the settings is freed', async () => {
  const { address, listener } = await listenBare();
  let session: WeakRef<object> | undefined;
  let isClosed = false;
  listener.on('session', (begun) => {
    begun.once('close', () => (isClosed = true));
    session = new WeakRef(begun);
  });

  const socket = socketTo({ address });
  socket.write(Buffer.concat([PREFACE, EMPTY_SETTINGS]));
  await once(socket, 'data');
  socket.resetAndDestroy();
  await expect.poll(() => isClosed).toBe(true);

  const collectGarbage = garbageCollector();
  await expect
    .poll(() => {
      collectGarbage();
      return session?.deref() === undefined;
    })
    .toBe(true);
});

it('nothing keeps the process running once all connections are closed', async () => {
  const checkMs = 1_234;
  const graceMs = 54_321;
  const timers = watchTimers(checkMs, graceMs);
  await new Connections({ ...OPTIONS, checkMs }).close(graceMs);
  expect(timers()).toEqual({ set: 2, left: 0 });
});
