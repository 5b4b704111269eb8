import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EarlyAnswers } from '../../src/grpc/early-answer.js';
import { WATCH_PATH } from '../../src/grpc/health.js';
import { REFLECTION_PATHS } from '../../src/grpc/reflection.js';
import { firstBlock } from '../../bench/load/hpack.js';
import {
  ACK,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  grpcHead,
  HEADERS,
  number,
  PREFACE,
  RST_STREAM,
  SETTINGS,
} from '../support/http2-frames.js';
import { callForgetfully } from '../support/forgetful-client.js';
import { framed, outcomeOf, requestOn } from '../support/http2-call.js';
import { connectTo, type Door, ECHO, GUARDED, openDoor } from '../support/grpc-door.js';

/** A message that is larger than the server takes, and far from complete. */
const ENDLESS = Buffer.from([0, 0x7f, 0xff, 0xff, 0xff, 1, 2, 3]);
const UNKNOWN = '/test.Service/Unknown';
/** Calls of a client that has as many streams open as it may. */
const CALLS = 40;
/** Calls that it makes one after the other. */
const CALLS_IN_TURN = 10;
/** From 22 on, Node counts a stream until it has let go of it, and refuses the next one of a client at its limit. */
const NODE_REFUSES = Number(process.versions.node.split('.')[0]) >= 22;
/** A server that waits for its clients longer than a test lasts. */
const PATIENT = { times: { unreadMs: 60_000 } };

/** A turn of a busy event loop, in milliseconds. */
const TURN_MS = 3;
const NO_BYTES = Buffer.alloc(0);
/** A message that does not leave at once, but for the window of its connection. */
const LONG = framed(Buffer.alloc(60_000));
const HALF = framed(Buffer.alloc(10)).subarray(0, 10);
const SHORT = framed(Buffer.alloc(100));
const COMPRESSED = framed(Buffer.alloc(60_000), true);
/** Headers of a call. */
type Headers = Readonly<Record<string, string>>;
const PLAIN: Headers = { 'content-type': 'text/plain' };
const GRPC_WEB: Headers = { 'content-type': 'application/grpc-web+proto' };
const GZIP: Headers = { 'grpc-encoding': 'gzip' };

/** The first block of headers of a call; these replace those of the same name. */
function headOf(path: string, headers: Headers): Buffer {
  const usual = grpcHead(path).filter(([name]) => headers[name] === undefined);
  return firstBlock([...usual, ...Object.entries(headers)]);
}

/** Resolves when the server has read and answered what was sent before. */
async function roundTrip(session: ClientHttp2Session): Promise<void> {
  if (session.connecting) await once(session, 'connect');
  // A ping overtakes what has not left yet.
  for (let pings = 0; pings < 3; pings++) await promisify(session.ping.bind(session))();
}

/** Makes each turn of the event loop long enough for a client to see what was sent and to answer it, until the test ends. */
function makeTurnsLong(): void {
  let next = setImmediate(function turn() {
    const begun = performance.now();
    while (performance.now() - begun < TURN_MS);
    next = setImmediate(turn);
  });
  onTestFinished(() => {
    clearImmediate(next);
  });
}

/**
 * Makes calls one after the other on one connection, with `eager-client.mjs`.
 *
 * @param last the client's last frame of each stream
 * @returns how many were answered, and how many refused, until the server ended the connection
 */
async function answeredInTurn(
  { address }: Door,
  path: string,
  headers: Headers,
  last: Buffer,
): Promise<{ answered: number; refused: number }> {
  const workerData = {
    port: Number(new URL(`http://${address}`).port),
    begin: Buffer.concat([PREFACE, frame(SETTINGS, 0, 0, NO_BYTES)]),
    acknowledge: frame(SETTINGS, ACK, 0, NO_BYTES),
    first: frame(HEADERS, END_HEADERS, 1, headOf(path, headers)),
    last,
    calls: CALLS_IN_TURN,
  };
  const client = new Worker(new URL('../support/eager-client.mjs', import.meta.url), { workerData });
  const [counts] = (await once(client, 'message')) as [{ answered: number; refused: number }];
  return counts;
}

describe('a client that has as many streams open as it may', () => {
  it.each([
    ['of a stranger', GUARDED, LONG],
    ['too large', ECHO, Buffer.concat([ENDLESS, LONG])],
    ['of messages of a stranger', GUARDED, Buffer.concat([SHORT, SHORT, SHORT, LONG])],
    ['of a second message', ECHO, Buffer.concat([framed(NO_BYTES), framed(NO_BYTES), LONG])],
    ['compressed, of a public method', ECHO, COMPRESSED, GZIP],
    ['compressed, of a streaming method', WATCH_PATH, COMPRESSED, GZIP],
    ['of one streaming call too many', WATCH_PATH, LONG],
    ['of an unknown method', UNKNOWN, LONG],
    ['of another content type', ECHO, LONG, PLAIN],
    ['of gRPC-Web', ECHO, LONG, GRPC_WEB],
  ])(
    'is answered although it forgets the rest of an answered request: %s',
    async (_, path, body, headers = {}) => {
      const { address } = await openDoor({ ...PATIENT, limits: { maxStreams: 4 }, mostStreamingCalls: 0 });
      const block = headOf(path, headers);
      const ends = await callForgetfully(address, { block, body, calls: CALLS, streams: 4 });
      expect(ends).toEqual({ answered: CALLS, resets: [], goaways: [] });
    },
  );

  it.each([
    ['ends its half', GUARDED, frame(DATA, END_STREAM, 1, NO_BYTES)],
    ['ends its half with a message', GUARDED, frame(DATA, END_STREAM, 1, framed(NO_BYTES))],
    ['resets it', GUARDED, frame(RST_STREAM, 0, 1, number(constants.NGHTTP2_NO_ERROR))],
    ['ends its half of another content type', ECHO, frame(DATA, END_STREAM, 1, NO_BYTES), PLAIN],
    ['ends its half of an unknown method', UNKNOWN, frame(DATA, END_STREAM, 1, NO_BYTES)],
  ])('%s once it is answered, and makes the next call', async (_, path, last, headers = {}) => {
    // The answer comes at the deadline.
    const door = await openDoor({ ...PATIENT, limits: { maxStreams: 1, deadlineMs: 20 } });
    makeTurnsLong();
    const { answered, refused } = await answeredInTurn(door, path, headers, last);
    expect(answered + refused).toBe(CALLS_IN_TURN);
    expect(refused).toBeLessThanOrEqual(NODE_REFUSES ? CALLS_IN_TURN / 2 : 0);
  });

  it('has the status of each call in grpc-js', async () => {
    // Long enough for the client to let go of a stream before the server resets it, on a busy machine too.
    const door = await openDoor({ times: { unreadMs: 300 }, limits: { maxStreams: 4 } });
    const client = new Client(door.address, credentials.createInsecure());
    const same = (bytes: Buffer): Buffer => bytes;
    const codes = Array.from({ length: CALLS / 2 }, () => {
      const call = client.makeClientStreamRequest(GUARDED, same, same, new Metadata(), () => undefined);
      return new Promise<number>((resolve) =>
        call.on('status', ({ code }) => {
          resolve(code);
        }),
      );
    });
    const allowed: readonly number[] = [
      status.UNAUTHENTICATED,
      ...(NODE_REFUSES ? [status.RESOURCE_EXHAUSTED] : []),
    ];
    const others = (await Promise.all(codes)).filter((code) => !allowed.includes(code));
    expect(others).toEqual([]);
    client.close();
  });
});

describe('a refusal', () => {
  it.each([
    ['of a stranger', GUARDED, HALF, status.UNAUTHENTICATED],
    ['of a message that is too large', ECHO, ENDLESS, status.RESOURCE_EXHAUSTED],
    ['of an unknown method', UNKNOWN, HALF, status.UNIMPLEMENTED],
  ])('%s comes when its request has ended', async (_, path, piece, code) => {
    const session = connectTo(await openDoor(PATIENT));
    const stream = requestOn(session, path);
    const order: string[] = [];
    stream.once('response', () => order.push('answered'));
    stream.write(piece);
    await roundTrip(session);
    order.push('ended');
    expect(await outcomeOf(stream.end(Buffer.alloc(1_000)))).toMatchObject({ code });
    expect(order).toEqual(['ended', 'answered']);
  });

  it('of another content type comes when its request has ended', async () => {
    const session = connectTo(await openDoor(PATIENT));
    const stream = requestOn(session, ECHO, { 'content-type': 'text/plain' });
    const order: string[] = [];
    stream.once('response', () => order.push('answered'));
    stream.write(HALF);
    await roundTrip(session);
    order.push('ended');
    const [answer] = (await once(stream.end().resume(), 'response')) as [IncomingHttpHeaders];
    expect(answer[':status']).toBe(415);
    expect(order).toEqual(['ended', 'answered']);
  });

  it('is sent once, however many messages of its request are wrong', async () => {
    const warnings: Error[] = [];
    const listener = (warning: Error): void => void warnings.push(warning);
    process.on('warning', listener);
    onTestFinished(() => void process.off('warning', listener));
    const session = connectTo(await openDoor(PATIENT));
    const stream = requestOn(session, WATCH_PATH);
    stream.write(Buffer.concat(Array<Buffer>(12).fill(framed(Buffer.from([0xff])))));
    await roundTrip(session);
    expect((await outcomeOf(stream.end())).code).not.toBe(status.OK);
    expect(warnings).toEqual([]);
  });

  it("of a request that does not end comes at the call's deadline", async () => {
    const session = connectTo(await openDoor(PATIENT));
    const stream = requestOn(session, GUARDED, { 'grpc-timeout': '500m' });
    stream.write(HALF);
    const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    expect(Number(answer['grpc-status'])).toBe(status.UNAUTHENTICATED);
  });

  it("of a request that does not end comes at the limit of the call's time", async () => {
    const session = connectTo(await openDoor({ ...PATIENT, limits: { deadlineMs: 500 } }));
    const stream = requestOn(session, GUARDED);
    stream.write(HALF);
    const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    expect(Number(answer['grpc-status'])).toBe(status.UNAUTHENTICATED);
  });

  it('of a request that does not end comes when the server closes', async () => {
    const door = await openDoor(PATIENT);
    const session = connectTo(door);
    const stream = requestOn(session, GUARDED);
    stream.write(HALF);
    await roundTrip(session);
    const closed = door.close(10_000);
    expect(await outcomeOf(stream)).toMatchObject({ code: status.UNAUTHENTICATED });
    await closed;
  });

  it.each([
    ['served', true, status.RESOURCE_EXHAUSTED],
    ['not served', false, status.UNIMPLEMENTED],
  ])(
    'of reflection, whose clients do not end their requests, comes at once: %s',
    async (_, reflection, code) => {
      const session = connectTo(await openDoor({ ...PATIENT, reflection }));
      for (const path of REFLECTION_PATHS) {
        const stream = requestOn(session, path);
        stream.write(ENDLESS);
        const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders];
        expect(Number(answer['grpc-status'])).toBe(code);
      }
    },
  );
});

describe('an answer to a request that does not end', () => {
  /** A stream on the server's side, and the client's end of it. */
  async function openStream(): Promise<{ stream: ServerHttp2Stream; client: ClientHttp2Stream }> {
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const client = requestOn(connectTo({ address: `127.0.0.1:${port}` }), ECHO).on('error', () => undefined);
    client.write(HALF);
    const [stream] = (await once(server, 'stream')) as [ServerHttp2Stream];
    return { stream: stream.on('error', () => undefined), client };
  }

  const answers = (): EarlyAnswers => new EarlyAnswers(60_000, 60_000, [], () => undefined);

  it('is given up when its stream is reset', async () => {
    const { stream } = await openStream();
    const sent = new Promise<void>((resolve) => {
      answers().sendAfterRequest(stream, resolve);
    });
    stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    await sent;
    expect(stream.closed).toBe(true);
  });

  it('is given up at once when its connection has ended', async () => {
    const { stream, client } = await openStream();
    client.session?.destroy();
    await once(stream, 'close');
    let sent = false;
    answers().sendAfterRequest(stream, () => (sent = true));
    expect(sent).toBe(true);
  });

  it('leaves at once while the server closes', async () => {
    const { stream } = await openStream();
    const closing = answers();
    closing.close();
    let sent = false;
    closing.sendAfterRequest(stream, () => (sent = true));
    expect(sent).toBe(true);
  });
});

describe('a request that was answered before it was complete', () => {
  it.each([
    ['too large, of a stranger', GUARDED, ENDLESS, status.UNAUTHENTICATED],
    ['too large', ECHO, ENDLESS, status.RESOURCE_EXHAUSTED],
    ['of an unknown method', UNKNOWN, framed(new Uint8Array()), status.UNIMPLEMENTED],
    ['too large, of reflection', REFLECTION_PATHS[0] ?? '', ENDLESS, status.RESOURCE_EXHAUSTED],
  ])('is reset, and the client has its status: %s', async (_, path, piece, code) => {
    const stream = requestOn(connectTo(await openDoor()), path);
    stream.write(piece);
    expect(await outcomeOf(stream)).toMatchObject({ code });
    expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
  });

  it('is reset after all messages of the answer and its trailers', async () => {
    const door = await openDoor({ times: { reflectionMs: 100 } });
    const stream = requestOn(connectTo(door), REFLECTION_PATHS[0] ?? '');
    stream.write(framed(Buffer.from([0x3a, 1, 0x2a])));
    const received: Buffer[] = [];
    stream.on('data', (data: Buffer) => received.push(data));
    expect(await outcomeOf(stream)).toMatchObject({ code: status.DEADLINE_EXCEEDED });
    expect(Buffer.concat(received).toString('latin1')).toContain('routing.v1.RouteService');
  });

  it.each([
    ['too large, of a stranger', GUARDED, {}, ENDLESS],
    ['too large', ECHO, {}, ENDLESS],
    ['too large, and sent on', ECHO, {}, Buffer.concat([ENDLESS, Buffer.alloc(60_000)])],
    ['of an unknown method', UNKNOWN, {}, framed(new Uint8Array())],
    ['of an unknown method, and sent on', UNKNOWN, {}, framed(new Uint8Array(60_000))],
    ['of another content type', ECHO, { 'content-type': 'text/plain' }, framed(new Uint8Array(60_000))],
    ['too large, of reflection', REFLECTION_PATHS[0] ?? '', {}, ENDLESS],
    ['a second message', ECHO, {}, Buffer.concat([framed(Buffer.from('m')), framed(Buffer.from('m'))])],
  ])('leaves its place to the next one: %s', async (_, path, headers, piece) => {
    const session = connectTo(await openDoor({ limits: { maxStreams: 2 } }));
    const resets: number[] = [];
    for (let made = 0; made < 6; made++) {
      const stream = requestOn(session, path, headers).on('error', () => undefined);
      stream.write(piece);
      await outcomeOf(stream);
      resets.push(stream.rstCode);
    }
    expect(resets).toEqual(Array(6).fill(constants.NGHTTP2_NO_ERROR));
  });

  it('has its status in grpc-js too', async () => {
    const client = new Client((await openDoor()).address, credentials.createInsecure());
    const same = (bytes: Buffer): Buffer => bytes;
    const call = client.makeClientStreamRequest(GUARDED, same, same, new Metadata(), () => undefined);
    const ended = new Promise<number>((resolve) =>
      call.on('status', ({ code }) => {
        resolve(code);
      }),
    );
    call.write(Buffer.alloc(1_000_000));
    await expect(ended).resolves.toBe(status.UNAUTHENTICATED);
    client.close();
  });
});

describe('a request that is complete', () => {
  it('is answered without a reset', async () => {
    const session = connectTo(await openDoor());
    const stream = requestOn(session, ECHO).end(framed(Buffer.from('m')));
    expect(await outcomeOf(stream)).toMatchObject({ code: status.OK });
    expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
  });
});
