import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { WATCH_PATH } from '../../src/grpc/health.js';
import { REFLECTION_PATHS } from '../../src/grpc/reflection.js';
import { frameMessage, outcomeOf, requestOn } from '../support/http2-call.js';
import { connectTo, SLOW, type TestServerOptions, startTestServer } from '../support/test-grpc-server.js';
import { errorInfoOf, richErrorOfReply } from '../support/rich-error.js';

/** `list_services: "*"` of a ServerReflectionRequest. */
const LIST_SERVICES = frameMessage(Buffer.from([0x3a, 1, 0x2a]));
const EVERYTHING = frameMessage(new Uint8Array());
/** Longer than any test takes, in milliseconds. */
const NEVER_MS = 60_000;

/** Begins a streaming call with one request. */
function begin(session: ClientHttp2Session, path: string): ClientHttp2Stream {
  const stream = requestOn(session, path).on('error', () => undefined);
  stream.write(path === WATCH_PATH ? EVERYTHING : LIST_SERVICES);
  return path === WATCH_PATH ? stream.end() : stream;
}

/** Begins a streaming call; resolves at its first response. */
async function begun(session: ClientHttp2Session, path: string): Promise<ClientHttp2Stream> {
  const stream = begin(session, path);
  await once(stream, 'data');
  return stream;
}

/** Begins a streaming call; resolves with whether it gets a response, and is not refused. */
async function isOpened(session: ClientHttp2Session, path: string): Promise<boolean> {
  const refused = new AbortController();
  const stream = begin(session, path).once('close', () => {
    refused.abort();
  });
  stream.end();
  return once(stream, 'data', { signal: refused.signal }).then(
    () => true,
    () => false,
  );
}

describe.each([
  [WATCH_PATH, status.OK, status.UNIMPLEMENTED, 'UNSUPPORTED'],
  ...REFLECTION_PATHS.map(
    (path) => [path, status.UNAVAILABLE, status.RESOURCE_EXHAUSTED, 'OVERLOADED'] as const,
  ),
] as const)('%s', (path, codeAtEnd, codeBeyond, reasonBeyond) => {
  it('is refused beyond the limit of all connections, until another has ended', async () => {
    const server = await startTestServer({ mostStreamingCalls: 2 });
    const [first] = await Promise.all([
      begun(connectTo(server), WATCH_PATH),
      begun(connectTo(server), WATCH_PATH),
    ]);
    const session = connectTo(server);
    const outcome = await outcomeOf(requestOn(session, path, { 'x-request-id': 'n' }).end(EVERYTHING));
    expect(outcome.code).toBe(codeBeyond);
    expect(errorInfoOf(richErrorOfReply(outcome))).toMatchObject({
      reason: reasonBeyond,
      domain: 'routing.v1',
    });
    expect(outcome.trailers.get('x-request-id')).toEqual(['n']);
    first.close(constants.NGHTTP2_CANCEL);
    await expect.poll(() => isOpened(session, path)).toBe(true);
  });

  it('is refused to a connection that has an eighth of all, until one of these has ended, and to no other', async () => {
    const address = `unix:${join(mkdtempSync(join(tmpdir(), 'rr-')), 'grpc.sock')}`;
    const server = await startTestServer({ address, mostStreamingCalls: 16 });
    const session = connectTo(server);
    const [first] = await Promise.all([begun(session, WATCH_PATH), begun(session, WATCH_PATH)]);
    expect((await outcomeOf(requestOn(session, path).end(EVERYTHING))).code).toBe(codeBeyond);
    expect(await isOpened(connectTo(server), path)).toBe(true);
    first.close(constants.NGHTTP2_CANCEL);
    await expect.poll(() => isOpened(session, path)).toBe(true);
  });

  it('accepts a compressed message', async () => {
    const stream = requestOn(connectTo(await startTestServer()), path, { 'grpc-encoding': 'gzip' });
    const message = path === WATCH_PATH ? EVERYTHING : LIST_SERVICES;
    stream.on('error', () => undefined).end(frameMessage(gzipSync(message.subarray(5)), true));
    await once(stream, 'data');
  });

  it('is reset when its request is not complete in time', async () => {
    const times = { reflectionMs: 100, resetMs: 50, checkMs: 5 };
    const server = await startTestServer({ limits: { deadlineMs: 100 }, times });
    const stream = requestOn(connectTo(server), path).on('error', () => undefined);
    await new Promise((resolve) => stream.once('close', resolve));
    expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
  });

  it('is ended at once when the server closes', async () => {
    const server = await startTestServer();
    const session = connectTo(server);
    const outcome = outcomeOf(await begun(session, path));
    await server.close(NEVER_MS);
    expect((await outcome).code).toBe(codeAtEnd);
  });
});

describe('a watch', () => {
  it('takes no place if grpc-js ended it before its request was complete', async () => {
    const server = await startTestServer({ mostStreamingCalls: 1 });
    const session = connectTo(server);
    const tooLarge = frameMessage(Buffer.alloc(200_000)).subarray(0, 5);
    await once(session, 'connect');
    const stream = requestOn(session, WATCH_PATH);
    const outcome = outcomeOf(stream);
    stream.once('response', () => stream.end()).write(EVERYTHING);
    await promisify(session.ping.bind(session))();
    stream.write(tooLarge);
    expect((await outcome).code).toBe(status.RESOURCE_EXHAUSTED);
    expect(await isOpened(session, WATCH_PATH)).toBe(true);
  });

  it('may last longer than other calls', async () => {
    const server = await startTestServer({ limits: { deadlineMs: 50 }, times: { resetMs: 0, checkMs: 5 } });
    const session = connectTo(server);
    const stream = await begun(session, WATCH_PATH);
    const told = once(stream, 'data');
    for (let ended = 0; ended < 4; ended++)
      await outcomeOf(requestOn(session, SLOW).end(frameMessage(new Uint8Array())));
    server.health.setServing(true);
    expect(await told).toHaveLength(1);
  });

  it('sends only the latest status to a client that reads slowly', async () => {
    const server = await startTestServer();
    const stream = await begun(connectTo(server), WATCH_PATH);
    const received: Buffer[] = [];
    stream.on('data', (data: Buffer) => received.push(data));
    for (let times = 0; times < 1_000; times++) {
      server.health.setServing(true);
      server.health.setServing(false);
    }
    server.health.setServing(true);
    const ended = once(stream, 'end');
    await server.close(NEVER_MS);
    await ended;
    const statuses = [...Buffer.concat(received)].filter((_, index) => index % 7 === 6);
    expect(statuses).toEqual([1, 2]);
  });
});

describe('reflection', () => {
  it('answers hundreds of requests that arrive at once', async () => {
    const stream = requestOn(connectTo(await startTestServer()), REFLECTION_PATHS[0] ?? '');
    const requests = Buffer.concat(Array<Buffer>(200).fill(LIST_SERVICES));
    const answers = outcomeOf(stream.end(requests));
    let bytes = 0;
    stream.on('data', (chunk: Buffer) => (bytes += chunk.length));
    expect((await answers).code).toBe(status.OK);
    expect(bytes).toBeGreaterThan(200 * LIST_SERVICES.length);
  });

  it('stops reading requests while its client reads no responses', async () => {
    const session = connectTo(await startTestServer());
    await once(session, 'remoteSettings');
    const stream = requestOn(session, REFLECTION_PATHS[0] ?? '').on('error', () => undefined);
    stream.pause();
    // A ServerReflectionRequest with a `host` of 30,000 bytes, which the response repeats: two fill the client's window.
    const request = frameMessage(
      Buffer.from([0x0a, 0xb0, 0xea, 0x01, ...Buffer.alloc(30_000, 'h'), 0x3a, 1, 0x2a]),
    );
    for (let sent = 0; sent < 100; sent++) stream.write(request);
    await promisify(session.ping.bind(session))();
    await promisify(session.ping.bind(session))();
    expect(stream.writableLength).toBeGreaterThan(50 * request.length);
  });
});

describe('an observer of streaming calls', () => {
  /** A server whose streaming calls are observed, and what the observer saw. */
  async function startObserved(change: TestServerOptions = {}) {
    const begun: string[] = [];
    const ended: unknown[] = [];
    const server = await startTestServer({
      ...change,
      observeStreaming: (path) => {
        begun.push(path);
        return (code, reason) => ended.push({ path, code, reason });
      },
    });
    return { server, begun, ended };
  }

  it('is notified when a watch begins and when its client cancels it', async () => {
    const { server, begun: paths, ended } = await startObserved();
    const stream = await begun(connectTo(server), WATCH_PATH);
    expect(paths).toEqual([WATCH_PATH]);
    stream.close(constants.NGHTTP2_CANCEL);
    await expect.poll(() => ended).toEqual([{ path: WATCH_PATH, code: status.CANCELLED }]);
  });

  it.each(REFLECTION_PATHS)('is notified once that a call of %s has ended', async (path) => {
    const { server, ended } = await startObserved();
    const stream = await begun(connectTo(server), path);
    expect((await outcomeOf(stream.end())).code).toBe(status.OK);
    await server.close(0);
    expect(ended).toEqual([{ path, code: status.OK }]);
  });

  it('is notified once, with the reason, that a call was refused', async () => {
    const { server, ended } = await startObserved({ mostStreamingCalls: 1 });
    await begun(connectTo(server), WATCH_PATH);
    await outcomeOf(requestOn(connectTo(server), WATCH_PATH).end(EVERYTHING));
    const refused = { path: WATCH_PATH, code: status.UNIMPLEMENTED, reason: 'UNSUPPORTED' };
    expect(ended).toEqual([refused]);
  });
});
