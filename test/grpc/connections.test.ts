import { EventEmitter, once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  createServer,
} from 'node:http2';
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
import { FrameConnection } from '../support/frame-connection.js';
import {
  ACK,
  DATA,
  frame,
  GOAWAY,
  grpcHead,
  number,
  PING,
  PREFACE,
  sendFields,
  SETTINGS,
} from '../support/http2-frames.js';
import { LIMITS } from '../support/grpc-limits.js';
import { framed, outcomeOf, requestOn } from '../support/http2-call.js';
import { connectTo, type TestServer, ECHO, startTestServer, SLOW } from '../support/test-grpc-server.js';
import { watchTimers } from '../support/watched-timers.js';

const MESSAGE = framed(Buffer.from('m'));
const EMPTY_SETTINGS = frame(SETTINGS, 0, 0, Buffer.alloc(0));
const ACKNOWLEDGED = frame(SETTINGS, ACK, 0, Buffer.alloc(0));
/** A fraction of the default times. */
const FAST = { checkMs: 10, patienceMs: 300, resetMs: 200 };

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

/** Makes a call, which must succeed. */
async function expectEcho(session: ClientHttp2Session): Promise<void> {
  const { code } = await outcomeOf(requestOn(session, ECHO).end(MESSAGE));
  expect(code).toBe(status.OK);
}

/** Begins a call whose end does not matter. */
function begin(session: ClientHttp2Session, path: string, message = MESSAGE): ClientHttp2Stream {
  return requestOn(session, path)
    .on('error', () => undefined)
    .end(message);
}

/** Whether the server answers on a new connection. */
async function accepts(server: TestServer): Promise<boolean> {
  return expectEcho(connectTo(server)).then(
    () => true,
    () => false,
  );
}

/** Resolves when two other connections, opened one after the other, have been closed as idle. */
async function othersEnd(server: TestServer): Promise<string> {
  for (let ended = 0; ended < 2; ended++) await once(connectTo(server), 'goaway');
  return 'another was ended';
}

/** The number of streams that a client may have open, as the server has last announced it. */
function streamsOf(session: ClientHttp2Session): number | undefined {
  return session.remoteSettings.maxConcurrentStreams;
}

describe('a connection', () => {
  it('is closed if it does not begin with HTTP/2', async () => {
    const server = await startTestServer({ times: FAST });
    const [silent, slow] = [socketTo(server), socketTo(server)];
    slow.write('PRI * HTTP/2');
    await Promise.all([once(silent.resume(), 'close'), once(slow.resume(), 'close')]);
  });

  it('is closed if its client does not acknowledge the settings, whatever else it does', async () => {
    const server = await startTestServer({ times: FAST });
    const socket = sendFields(server.address, grpcHead(WATCH_PATH), undefined);
    const pinging = setInterval(() => socket.write(frame(PING, 0, 0, Buffer.alloc(8))), 50);
    await new Promise((resolve) =>
      socket
        .on('error', () => undefined)
        .once('close', resolve)
        .resume(),
    );
    clearInterval(pinging);
  });

  it('announces a maximum size of headers, which allows a token of 8 KiB', async () => {
    const session = connectTo(await startTestServer());
    await once(session, 'remoteSettings');
    expect(session.remoteSettings.maxHeaderListSize).toBe(16_384);

    const authorization = `Bearer ${'t'.repeat(8_192)}`;
    const { code } = await outcomeOf(requestOn(session, ECHO, { authorization }).end(MESSAGE));
    expect(code).toBe(status.OK);
  });

  it('is closed gracefully when its calls and watches have ended and it has been idle for long', async () => {
    const server = await startTestServer({ limits: { grpcIdleMs: 200 }, times: FAST });
    const session = connectTo(server);
    const watch = begin(session, WATCH_PATH, framed(new Uint8Array()));
    await once(watch, 'data');
    watch.close(constants.NGHTTP2_CANCEL);
    await expectEcho(session);

    const [code] = (await once(session, 'goaway')) as [number];
    expect(code).toBe(constants.NGHTTP2_NO_ERROR);
    await once(session, 'close');
  });

  it('stays open without calls while its client sends pings', async () => {
    const server = await startTestServer({ limits: { grpcIdleMs: 200 }, times: FAST });
    const session = connectTo(server);
    const ended = once(session, 'goaway').then(() => 'ended');
    await expectEcho(session);

    const pinging = setInterval(() => session.ping(() => undefined), 20);
    await expect(Promise.race([ended, othersEnd(server)])).resolves.toBe('another was ended');

    clearInterval(pinging);
    await expect(ended).resolves.toBe('ended');
  });

  it.each([
    ['a call', SLOW],
    ['a watch', WATCH_PATH],
  ])('stays open with %s, however silent it is', async (_, path) => {
    const server = await startTestServer({ limits: { grpcIdleMs: 200 }, times: FAST });
    const session = connectTo(server);
    begin(session, path, framed(new Uint8Array()));
    const ended = once(session, 'goaway').then(() => 'ended');
    await expect(Promise.race([ended, othersEnd(server)])).resolves.toBe('another was ended');
  });

  it('is cut when its client answers no ping, even during a call', async () => {
    const server = await startTestServer({ times: { ...FAST, keepaliveMs: 100, keepaliveTimeoutMs: 100 } });
    const socket = sendFields(server.address, grpcHead(WATCH_PATH), undefined);
    socket.write(ACKNOWLEDGED);
    await once(socket.resume(), 'close');
  });

  it('is cut when its client leaves it half-open after the server has ended it', async () => {
    const server = await startTestServer({ limits: { grpcIdleMs: 200 }, times: FAST });
    const socket = socketTo(server, true);
    socket.write(Buffer.concat([PREFACE, EMPTY_SETTINGS, ACKNOWLEDGED]));
    await once(socket.resume(), 'end');
    // The client learns only from its writes that the server has closed the connection.
    const sending = setInterval(() => socket.write(EMPTY_SETTINGS), 50);
    await new Promise((resolve) => socket.once('close', resolve));
    clearInterval(sending);
  });

  it('is reported with the reason if the server ends it for an error of the client, and only then', async () => {
    const reasons: string[] = [];
    const server = await startTestServer({
      limits: { maxStreams: 1 },
      onConnectionError: (reason) => reasons.push(reason),
    });

    // These clients leave without an error of theirs.
    const leaving = await framesTo(server);
    leaving.send(GOAWAY, 0, 0, Buffer.concat([number(0), number(constants.NGHTTP2_INTERNAL_ERROR)]));
    const lost = socketTo(server);
    lost.write(PREFACE);
    await once(lost, 'data');
    lost.resetAndDestroy();
    await expectEcho(connectTo(server));

    const block = firstBlock(grpcHead(SLOW));
    const beyond = await framesTo(server);
    for (let begun = 0; begun < 2; begun++) beyond.begin(block);
    await expect.poll(() => reasons).toEqual(['Protocol error']);

    const wasteful = await framesTo(server);
    const stream = wasteful.begin(block);
    for (let sent = 0; sent < 2_000; sent++) wasteful.send(DATA, 0, stream, Buffer.alloc(0));
    await expect.poll(() => reasons).toEqual(['Protocol error', 'Too many invalid HTTP/2 frames']);
  });

  it('is closed at its maximum age', async () => {
    const server = await startTestServer({ limits: { grpcMaxAgeMs: 300 } });
    const session = connectTo(server);
    const pinging = setInterval(() => session.ping(() => undefined), 50);
    await once(session, 'goaway');
    clearInterval(pinging);
  });
});

it('a connection beyond the limit is refused until another has closed', async () => {
  const server = await startTestServer({ limits: { maxConnections: 1 } });
  const session = connectTo(server);
  await expectEcho(session);

  await once(socketTo(server).resume(), 'close');
  await expectEcho(session);

  session.destroy();
  await expect.poll(() => accepts(server)).toBe(true);
});

describe('a stream', () => {
  it('is not opened beyond the limit of its connection before another has ended', async () => {
    const server = await startTestServer({ limits: { maxStreams: 2 } });
    const session = connectTo(server);
    await once(session, 'remoteSettings');
    const calls = [1, 2, 3].map(() => outcomeOf(requestOn(session, SLOW).end(MESSAGE)));
    await server.arrived(2);

    let isThirdOpen = false;
    void server.arrived(3).then(() => (isThirdOpen = true));
    // The server answers the ping after it has read everything sent before.
    await promisify(session.ping.bind(session))();
    await setImmediate();
    expect(isThirdOpen).toBe(false);

    server.answer();
    await server.arrived(1);
    server.answer();
    expect((await Promise.all(calls)).map(({ code }) => code)).toEqual([0, 0, 0]);
  });

  it('is reset after the maximum time of a call if its response is not read', async () => {
    const server = await startTestServer({ limits: { deadlineMs: 300 }, times: FAST });
    const session = connect(`http://${server.address}`, { settings: { initialWindowSize: 10 } });
    onTestFinished(() => {
      session.destroy();
    });
    const stream = requestOn(session, ECHO).on('error', () => undefined);
    stream.end(framed(Buffer.alloc(1_000))).pause();
    await expect.poll(() => stream.rstCode, { timeout: 3_000 }).toBe(constants.NGHTTP2_CANCEL);
  });
});

describe('streams beyond the limit of all connections', () => {
  it('are refused as safe to retry until others have ended', async () => {
    const server = await startTestServer({ limits: { maxCalls: 4 }, times: FAST });
    const calls = Array.from({ length: 5 }, () => outcomeOf(requestOn(connectTo(server), SLOW).end(MESSAGE)));
    await server.arrived(5);

    const refused = requestOn(connectTo(server), ECHO).on('error', () => undefined);
    refused.end(MESSAGE);
    await new Promise((resolve) => refused.once('close', resolve));
    expect(refused.rstCode).toBe(constants.NGHTTP2_REFUSED_STREAM);

    server.answer();
    await Promise.all(calls);
    await expectEcho(connectTo(server));
  });
});

describe("a connection's share of streams", () => {
  /** 8 streams in total, half of the calls that may wait, and at most 4 on each connection. */
  const SHARED = { limits: { maxStreams: 4, maxWaitingCalls: 16 }, times: FAST };

  it('shrinks while many connections are busy, and grows when few are busy again', async () => {
    const server = await startTestServer(SHARED);
    const sessions = Array.from({ length: 8 }, () => connectTo(server));
    const calls = sessions.flatMap((session) =>
      Array.from({ length: 2 }, () => outcomeOf(requestOn(session, SLOW).end(MESSAGE))),
    );
    await expect.poll(() => sessions.map(streamsOf)).toEqual(Array(8).fill(2));

    await server.arrived(16);
    server.answer();
    await Promise.all(calls);

    const [left = connectTo(server)] = sessions;
    begin(left, SLOW);
    await expect.poll(() => streamsOf(left)).toBe(4);
    expect(sessions.slice(1).map(streamsOf)).toEqual(Array(7).fill(2));
  });

  it('is a part of half the calls that may wait', async () => {
    const server = await startTestServer(SHARED);
    const sessions = Array.from({ length: 4 }, () => connectTo(server));
    for (const session of sessions) for (let made = 0; made < 3; made++) begin(session, SLOW);
    await expect.poll(() => sessions.map(streamsOf)).toEqual(Array(4).fill(2));
  });

  it('is not reduced for or by connections that are idle or only watch', async () => {
    const server = await startTestServer(SHARED);
    const sessions: ClientHttp2Session[] = [];
    for (let made = 0; made < 8; made++) {
      const session = connectTo(server);
      const watch = begin(session, WATCH_PATH, framed(new Uint8Array()));
      await once(watch, 'data');
      // A connection begins with a share among those that came since the last check.
      await expect.poll(() => streamsOf(session)).toBe(4);
      sessions.push(session);
    }
    expect(sessions.map(streamsOf)).toEqual(Array(8).fill(4));
  });

  it('shrinks for idle connections while there are many', async () => {
    // All connections are announced 13 streams in total: 3 times the 1.125 * 4 that may be open.
    const server = await startTestServer({ limits: { maxStreams: 8, maxCalls: 4 }, times: FAST });
    const first = connectTo(server);
    await once(first, 'remoteSettings');
    expect(streamsOf(first)).toBe(8);
    const sessions = [first, ...Array.from({ length: 5 }, () => connectTo(server))];
    await expect.poll(() => sessions.map(streamsOf)).toEqual(Array(6).fill(2));
  });

  it('is not reduced by connections that make one call at a time', async () => {
    const server = await startTestServer(SHARED);
    const busy = connectTo(server);
    await once(busy, 'remoteSettings');
    const shares = new Set([streamsOf(busy)]);
    busy.on('remoteSettings', () => shares.add(streamsOf(busy)));
    for (let made = 0; made < 4; made++) begin(busy, SLOW);
    await server.arrived(4);

    const others = Array.from({ length: 3 }, () => connectTo(server));
    for (let round = 0; round < 80; round++) await Promise.all(others.map(expectEcho));
    expect([...shares]).toEqual([4]);
  });

  it('is that of a busy connection once an idle one uses all it has', async () => {
    // All connections are announced 13 streams in total: 3 times the 1.125 * 4 that may be open.
    const server = await startTestServer({ limits: { maxStreams: 8, maxCalls: 4 }, times: FAST });
    const sessions = Array.from({ length: 6 }, () => connectTo(server));
    await expect.poll(() => sessions.map(streamsOf)).toEqual(Array(6).fill(2));

    const [first = connectTo(server)] = sessions;
    for (let made = 0; made < 2; made++) begin(first, SLOW);
    await expect.poll(() => streamsOf(first)).toBe(8);
    expect(sessions.slice(1).map(streamsOf)).toEqual(Array(5).fill(2));
  });

  it('is reduced from the start for connections that come at once', async () => {
    const server = await startTestServer({ ...SHARED, times: { checkMs: 60_000 } });
    const sessions = Array.from({ length: 8 }, () => connectTo(server));
    await Promise.all(sessions.map((session) => once(session, 'remoteSettings')));
    await expect.poll(() => sessions.map(streamsOf)).toContain(2);
  });

  it('is not reduced by connections that only wait for their clients', async () => {
    const server = await startTestServer(SHARED);
    for (let made = 0; made < 8; made++)
      requestOn(connectTo(server), ECHO)
        .on('error', () => undefined)
        .write(MESSAGE);

    const busy = connectTo(server);
    begin(busy, SLOW);
    await server.arrived(1);
    await expect.poll(() => streamsOf(busy)).toBe(4);
  });

  it('is not reduced by connections that came at once and have left', async () => {
    const server = await startTestServer({ ...SHARED, times: { checkMs: 60_000 } });
    const sessions = Array.from({ length: 8 }, () => connectTo(server));
    await Promise.all(sessions.map((session) => once(session, 'remoteSettings')));
    for (const session of sessions) session.destroy();

    await expect
      .poll(async () => {
        const session = connectTo(server);
        await once(session, 'remoteSettings');
        // The share is announced before the ping is answered.
        await promisify(session.ping.bind(session))();
        const streams = streamsOf(session);
        session.destroy();
        return streams;
      })
      .toBe(4);
  });

  it('is restored at the next check for connections that came at once and stay idle', async () => {
    const server = await startTestServer(SHARED);
    const sessions = Array.from({ length: 8 }, () => connectTo(server));
    await Promise.all(sessions.map((session) => once(session, 'remoteSettings')));
    await expect.poll(() => sessions.map(streamsOf)).toEqual(Array(8).fill(4));
  });
});

it('a session that its client resets before it has acknowledged the settings is freed', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const connections = new Connections({ ...LIMITS, ...FAST, sharedStreams: 8, mostStreams: 8 });
  const listener = createServer();
  onTestFinished(() => {
    listener.close();
    return connections.close(0);
  });
  connections.attach(listener);

  let session: WeakRef<object> | undefined;
  let isClosed = false;
  listener.on('session', (begun) => {
    session = new WeakRef(begun.once('close', () => (isClosed = true)));
  });
  await once(listener.listen(0, '127.0.0.1'), 'listening');

  const { port } = listener.address() as AddressInfo;
  const socket = socketTo({ address: `127.0.0.1:${port}` });
  socket.write(Buffer.concat([PREFACE, EMPTY_SETTINGS]));
  await once(socket, 'data');
  socket.resetAndDestroy();
  await expect.poll(() => isClosed).toBe(true);

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
  const options = { ...LIMITS, ...FAST, checkMs, sharedStreams: 8, mostStreams: 8 };
  await new Connections(options).close(graceMs);
  expect(timers()).toEqual({ set: 2, left: 0 });
});
