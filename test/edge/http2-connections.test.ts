import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { connect as connectSocket, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { status } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WATCH_PATH } from '../../src/grpc/health.js';
import { REFLECTION_PATHS } from '../../src/grpc/reflection.js';
import { firstBlock } from '../../bench/load/hpack.js';
import { FrameConnection } from '../support/frame-connection.js';
import {
  ACK,
  DATA,
  frame,
  GOAWAY,
  grpcHead,
  HEADERS,
  number,
  PING,
  PREFACE,
  sendFields,
  SETTINGS,
} from '../support/http2-frames.js';
import { framed, outcomeOf, requestOn } from '../support/http2-call.js';
import { connectTo, type Door, ECHO, openDoor, SLOW } from '../support/grpc-door.js';

const MESSAGE = framed(Buffer.from('m'));
const EMPTY_SETTINGS = frame(SETTINGS, 0, 0, Buffer.alloc(0));
const ACKNOWLEDGED = frame(SETTINGS, ACK, 0, Buffer.alloc(0));
/** A tenth of the usual times. */
const FAST = { checkMs: 10, patienceMs: 300, resetMs: 200 };

function socketTo({ address }: Door, allowHalfOpen = false): Socket {
  const { hostname, port } = new URL(`http://${address}`);
  const socket = connectSocket({ host: hostname, port: Number(port), allowHalfOpen });
  socket.on('error', () => undefined);
  onTestFinished(() => {
    socket.destroy();
  });
  return socket;
}

async function echoes(session: ClientHttp2Session): Promise<void> {
  const { code } = await outcomeOf(requestOn(session, ECHO).end(MESSAGE));
  expect(code).toBe(status.OK);
}

/** Resolves when two connections, one after the other, have each been ended as idle. */
async function outlived(door: Door): Promise<string> {
  for (let ended = 0; ended < 2; ended++) await once(connectTo(door), 'goaway');
  return 'another was ended';
}

function streamsOf(session: ClientHttp2Session): number | undefined {
  return session.remoteSettings.maxConcurrentStreams;
}

describe('connections', () => {
  it('beyond the limit are refused, and accepted when others have gone', async () => {
    const door = await openDoor({ limits: { maxConnections: 2 } });
    const [first, second] = [connectTo(door), connectTo(door)];
    await Promise.all([echoes(first), echoes(second)]);
    await once(socketTo(door), 'close');
    first.destroy();
    await expect
      .poll(() =>
        echoes(connectTo(door)).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
  });

  it('that do not begin with HTTP/2 are ended', async () => {
    const door = await openDoor({ times: FAST });
    const [silent, slow] = [socketTo(door), socketTo(door)];
    slow.write('PRI * HTTP/2');
    await Promise.all([once(silent.resume(), 'close'), once(slow.resume(), 'close')]);
  });

  it('that do not acknowledge the settings are ended, whatever else they do', async () => {
    const door = await openDoor({ times: FAST });
    const socket = sendFields(door.address, grpcHead(WATCH_PATH), undefined);
    const pinging = setInterval(() => socket.write(frame(PING, 0, 0, Buffer.alloc(8))), 50);
    await new Promise((resolve) =>
      socket
        .on('error', () => undefined)
        .once('close', resolve)
        .resume(),
    );
    clearInterval(pinging);
  });

  it('that send much before they acknowledge the settings are ended, but for an eighth of all', async () => {
    const door = await openDoor({ limits: { maxConnections: 16 }, times: { ...FAST, patienceMs: 60_000 } });
    const head = frame(HEADERS, 0, 1, Buffer.alloc(16_384));
    const beginning = Buffer.concat([PREFACE, EMPTY_SETTINGS, head]);
    const quiet = socketTo(door);
    quiet.write(Buffer.concat([PREFACE, EMPTY_SETTINGS]));
    const honest = socketTo(door);
    honest.write(
      Buffer.concat([PREFACE, EMPTY_SETTINGS, ACKNOWLEDGED, frame(PING, 0, 0, Buffer.alloc(8)), head]),
    );
    const greedy = Array.from({ length: 10 }, () => socketTo(door).resume());
    for (const socket of greedy) socket.write(beginning);
    const open = (): number => greedy.filter(({ closed }) => !closed).length;
    await expect.poll(open).toBe(2);
    expect([quiet.closed, honest.closed]).toEqual([false, false]);
  });

  it('are told how long headers may be, which is enough for a token of 8 KiB', async () => {
    const session = connectTo(await openDoor());
    await once(session, 'remoteSettings');
    expect(session.remoteSettings.maxHeaderListSize).toBe(16_384);
    const authorization = `Bearer ${'t'.repeat(8_192)}`;
    const { code } = await outcomeOf(requestOn(session, ECHO, { authorization }).end(MESSAGE));
    expect(code).toBe(status.OK);
  });

  it('without calls are closed in order when they have been silent for long', async () => {
    const door = await openDoor({ limits: { grpcIdleMs: 200 }, times: FAST });
    const session = connectTo(door);
    await echoes(session);
    const [code] = (await once(session, 'goaway')) as [number];
    expect(code).toBe(constants.NGHTTP2_NO_ERROR);
    await once(session, 'close');
  });

  it('without calls stay while their client sends pings', async () => {
    const door = await openDoor({ limits: { grpcIdleMs: 200 }, times: FAST });
    const session = connectTo(door);
    const ended = once(session, 'goaway').then(() => 'ended');
    await echoes(session);
    const pinging = setInterval(() => session.ping(() => undefined), 20);
    await expect(Promise.race([ended, outlived(door)])).resolves.toBe('another was ended');
    clearInterval(pinging);
    await expect(ended).resolves.toBe('ended');
  });

  it.each([
    ['a call', SLOW],
    ['a watch', WATCH_PATH],
  ])('with %s stay, however silent', async (_, path) => {
    const door = await openDoor({ limits: { grpcIdleMs: 200 }, times: FAST });
    const session = connectTo(door);
    requestOn(session, path)
      .on('error', () => undefined)
      .end(framed(new Uint8Array()));
    const ended = once(session, 'goaway').then(() => 'ended');
    await expect(Promise.race([ended, outlived(door)])).resolves.toBe('another was ended');
  });

  it('are cut when their client answers no ping, although it calls', async () => {
    const door = await openDoor({ times: { ...FAST, keepaliveMs: 100, keepaliveTimeoutMs: 100 } });
    const socket = sendFields(door.address, grpcHead(WATCH_PATH), undefined);
    socket.write(ACKNOWLEDGED);
    await once(socket.resume(), 'close');
  });

  it('are cut when their client leaves them half-open after the end', async () => {
    const door = await openDoor({ limits: { grpcIdleMs: 200 }, times: FAST });
    const socket = socketTo(door, true);
    socket.write(Buffer.concat([PREFACE, EMPTY_SETTINGS, ACKNOWLEDGED]));
    await once(socket.resume(), 'end');
    // Only what it sends tells this end that the other has gone.
    const sending = setInterval(() => socket.write(EMPTY_SETTINGS), 50);
    await new Promise((resolve) => socket.once('close', resolve));
    clearInterval(sending);
  });

  it('that the server ends for an error of the client are told, with the reason, and no others', async () => {
    const reasons: string[] = [];
    const door = await openDoor({
      limits: { maxStreams: 1 },
      onConnectionError: (reason) => reasons.push(reason),
    });
    const block = firstBlock(grpcHead(SLOW));
    /** Opens so many streams as soon as it may, and sends so many frames without data on the first. */
    const open = (streams: number, empty = 0): FrameConnection => {
      const connection = new FrameConnection(socketTo(door), {}, ({ type, flags }) => {
        if (type !== SETTINGS || (flags & ACK) !== 0) return;
        for (let begun = 0; begun < streams; begun++) connection.begin(block);
        for (let sent = 0; sent < empty; sent++) connection.send(DATA, 0, 1, Buffer.alloc(0));
      });
      return connection;
    };
    const leaving = open(0);
    leaving.send(GOAWAY, 0, 0, Buffer.concat([number(0), number(constants.NGHTTP2_INTERNAL_ERROR)]));
    const lost = socketTo(door);
    lost.write(PREFACE);
    await once(lost, 'data');
    lost.resetAndDestroy();
    await echoes(connectTo(door));
    open(2);
    await expect.poll(() => reasons).toEqual(['Protocol error']);
    open(1, 2_000);
    await expect.poll(() => reasons).toEqual(['Protocol error', 'Too many invalid HTTP/2 frames']);
  });

  it('may have a greatest age', async () => {
    const door = await openDoor({ limits: { grpcMaxAgeMs: 300 } });
    const session = connectTo(door);
    const pinging = setInterval(() => session.ping(() => undefined), 50);
    await once(session, 'goaway');
    clearInterval(pinging);
  });
});

describe('a stream', () => {
  it('beyond the limit of its connection is not opened before another has ended', async () => {
    const door = await openDoor({ limits: { maxStreams: 2 } });
    const session = connectTo(door);
    await once(session, 'remoteSettings');
    const calls = [1, 2, 3].map(() => outcomeOf(requestOn(session, SLOW).end(MESSAGE)));
    await door.arrived(2);
    // The server has read all that was sent before.
    await promisify(session.ping.bind(session))();
    const third = door.arrived(3).then(() => 'opened');
    await expect(Promise.race([third, Promise.resolve('waits')])).resolves.toBe('waits');
    door.answer();
    await door.arrived(1);
    door.answer();
    expect((await Promise.all(calls)).map(({ code }) => code)).toEqual([0, 0, 0]);
  });

  it('whose answer is not read is reset after the longest time of a call', async () => {
    const door = await openDoor({ limits: { deadlineMs: 300 }, times: FAST });
    const session = connect(`http://${door.address}`, { settings: { initialWindowSize: 10 } });
    onTestFinished(() => {
      session.destroy();
    });
    const stream = requestOn(session, ECHO).on('error', () => undefined);
    stream.end(framed(Buffer.alloc(1_000))).pause();
    await expect.poll(() => stream.rstCode, { timeout: 3_000 }).toBe(constants.NGHTTP2_CANCEL);
  });
});

describe('streams beyond the most of all connections', () => {
  /** At most four streams, and one more while another makes room for it. */
  const FEW = { limits: { maxCalls: 4 }, times: { ...FAST, resetMs: 60_000 } };
  const begin = (session: ClientHttp2Session, path: string): ClientHttp2Stream =>
    requestOn(session, path).on('error', () => undefined);
  /** A client without a window, which takes no answer. */
  const takingNothing = (door: Door): ClientHttp2Session => {
    const session = connect(`http://${door.address}`, { settings: { initialWindowSize: 0 } });
    onTestFinished(() => {
      session.destroy();
    });
    return session.on('error', () => undefined);
  };
  /** Streams whose requests are incomplete, as the server knows. */
  const incomplete = async (door: Door, paths: readonly string[]): Promise<ClientHttp2Stream[]> => {
    const session = connectTo(door);
    await once(session, 'connect');
    const streams = paths.map((path) => begin(session, path));
    // A ping overtakes what has not left yet.
    for (let pings = 0; pings < 3; pings++) await promisify(session.ping.bind(session))();
    return streams;
  };
  const answered = (stream: ClientHttp2Stream): Promise<unknown> => once(stream, 'response');
  const closed = (stream: ClientHttp2Stream): Promise<unknown> =>
    new Promise((resolve) => stream.once('close', resolve));

  it('are refused, so that clients may send them again, until others have ended', async () => {
    const door = await openDoor(FEW);
    const calls = Array.from({ length: 5 }, () => outcomeOf(requestOn(connectTo(door), SLOW).end(MESSAGE)));
    await door.arrived(5);
    const refused = begin(connectTo(door), ECHO).end(MESSAGE);
    await closed(refused);
    expect(refused.rstCode).toBe(constants.NGHTTP2_REFUSED_STREAM);
    door.answer();
    await Promise.all(calls);
    await echoes(connectTo(door));
  });

  it('are made room for by one whose request is incomplete, the oldest first', async () => {
    const door = await openDoor(FEW);
    const [first, ...others] = await incomplete(door, [ECHO, WATCH_PATH, ECHO, ECHO]);
    await expect.poll(() => echoes(connectTo(door)).then(() => first?.closed)).toBe(true);
    expect(first?.rstCode).toBe(constants.NGHTTP2_REFUSED_STREAM);
    expect(others.map((stream) => stream.closed)).toEqual([false, false, false]);
  });

  it('are made room for by one whose answer is not taken', async () => {
    const door = await openDoor(FEW);
    const session = takingNothing(door);
    const streams = Array.from({ length: 4 }, () => begin(session, ECHO).end(MESSAGE));
    await Promise.all(streams.map(answered));
    const someClosed = (): boolean => streams.some((stream) => stream.closed);
    await expect.poll(() => echoes(connectTo(door)).then(someClosed)).toBe(true);
    expect(streams.map(({ rstCode }) => rstCode)).toContain(constants.NGHTTP2_CANCEL);
  });

  it('are made room for by a refused call whose client does not end it', async () => {
    const door = await openDoor({ ...FEW, mostStreamingCalls: 1 });
    const session = connectTo(door);
    const watch = begin(session, WATCH_PATH).end(framed(new Uint8Array()));
    await once(watch, 'data');
    const refused = Array.from({ length: 3 }, () => begin(session, String(REFLECTION_PATHS[0])));
    await Promise.all(refused.map(answered));
    const someClosed = (): boolean => refused.some((stream) => stream.closed);
    await expect.poll(() => echoes(connectTo(door)).then(someClosed)).toBe(true);
    expect(watch.closed).toBe(false);
  });

  it('take nothing from calls under way, nor from watches', async () => {
    const door = await openDoor(FEW);
    const watch = begin(connectTo(door), WATCH_PATH).end(framed(new Uint8Array()));
    await once(watch, 'data');
    const call = outcomeOf(requestOn(connectTo(door), SLOW).end(MESSAGE));
    await door.arrived(1);
    const [first] = await incomplete(door, [ECHO, ECHO]);
    await expect.poll(() => echoes(connectTo(door)).then(() => first?.closed)).toBe(true);
    expect(first?.rstCode).toBe(constants.NGHTTP2_REFUSED_STREAM);
    expect(watch.closed).toBe(false);
    door.answer();
    expect((await call).code).toBe(status.OK);
  });
});

describe('streams are shared among busy connections', () => {
  /** 8 streams for all, at most 4 for each. */
  const SHARED = { limits: { maxStreams: 4, maxWaitingCalls: 16 }, times: FAST };

  it('which may open fewer while there are many, and more when there are few again', async () => {
    const door = await openDoor(SHARED);
    const sessions = Array.from({ length: 8 }, () => connectTo(door));
    const calls = sessions.map((session) => outcomeOf(requestOn(session, SLOW).end(MESSAGE)));
    await expect.poll(() => sessions.map(streamsOf)).toEqual(Array(8).fill(1));
    await door.arrived(8);
    door.answer();
    await Promise.all(calls);
    const [left = connectTo(door)] = sessions;
    requestOn(left, SLOW)
      .on('error', () => undefined)
      .end(MESSAGE);
    await expect.poll(() => streamsOf(left)).toBe(4);
    expect(sessions.slice(1).map(streamsOf)).toEqual(Array(7).fill(1));
  });

  it('and idle ones and those that only watch keep theirs and take none', async () => {
    const door = await openDoor(SHARED);
    const sessions: ClientHttp2Session[] = [];
    for (let made = 0; made < 8; made++) {
      const session = connectTo(door);
      const watch = requestOn(session, WATCH_PATH)
        .on('error', () => undefined)
        .end(framed(new Uint8Array()));
      await once(watch, 'data');
      // It begins with a share of those that came since the last check.
      await expect.poll(() => streamsOf(session)).toBe(4);
      sessions.push(session);
    }
    expect(sessions.map(streamsOf)).toEqual(Array(8).fill(4));
  });

  it('and idle ones may open fewer while there are many', async () => {
    // 13 streams for all that are open.
    const door = await openDoor({ limits: { maxStreams: 8, maxCalls: 4 }, times: FAST });
    const first = connectTo(door);
    await once(first, 'remoteSettings');
    expect(streamsOf(first)).toBe(8);
    const sessions = [first, ...Array.from({ length: 5 }, () => connectTo(door))];
    await expect.poll(() => sessions.map(streamsOf)).toEqual(Array(6).fill(2));
  });

  it('and connections that come at once begin with no more than a share', async () => {
    const door = await openDoor({ ...SHARED, times: { checkMs: 60_000 } });
    const sessions = Array.from({ length: 8 }, () => connectTo(door));
    await Promise.all(sessions.map((session) => once(session, 'remoteSettings')));
    await expect.poll(() => sessions.map(streamsOf)).toContain(1);
  });

  it('and those that only wait for their clients take none', async () => {
    const door = await openDoor(SHARED);
    for (let made = 0; made < 8; made++)
      requestOn(connectTo(door), ECHO)
        .on('error', () => undefined)
        .write(MESSAGE);
    const busy = connectTo(door);
    requestOn(busy, SLOW)
      .on('error', () => undefined)
      .end(MESSAGE);
    await door.arrived(1);
    await expect.poll(() => streamsOf(busy)).toBe(4);
  });

  it('until the next check', async () => {
    const door = await openDoor(SHARED);
    const sessions = Array.from({ length: 8 }, () => connectTo(door));
    await Promise.all(sessions.map((session) => once(session, 'remoteSettings')));
    await expect.poll(() => sessions.map(streamsOf)).toEqual(Array(8).fill(4));
  });
});

describe('a client that opens and cancels streams as fast as it can', () => {
  it('is cut off, and the others are served', async () => {
    const door = await openDoor();
    const other = connectTo(door);
    await echoes(other);
    const session = connectTo(door);
    let opened = 0;
    const flood = setInterval(() => {
      for (let made = 0; made < 100 && !session.closed && !session.destroyed; made++) {
        opened += 1;
        requestOn(session, SLOW)
          .on('error', () => undefined)
          .close(constants.NGHTTP2_CANCEL);
      }
    });
    await new Promise((resolve) => session.once('close', resolve));
    clearInterval(flood);
    expect(opened).toBeLessThan(20_000);
    await echoes(other);
  });
});
