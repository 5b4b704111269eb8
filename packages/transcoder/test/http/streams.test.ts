import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Metadata, status } from '@grpc/grpc-js';
import { create, toBinary } from '@bufbuild/protobuf';
import { anyPack } from '@bufbuild/protobuf/wkt';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { RequestInfoSchema } from '../../src/gen/google/rpc/error_details_pb.js';
import { StatusSchema } from '../../src/gen/google/rpc/status_pb.js';
import type { ReplyStream, UnaryCall, Upstream } from '../../src/upstream.js';
import { Deferred } from '../support/deferred.js';
import { type FeedCall, feedMessage, startFeed } from '../support/feed-server.js';
import { errorOf, httpRequest, reasonOf, rawExchange } from '../support/http-request.js';
import { settled, stuck } from '../support/settled.js';

const ENTRIES = '/v1/topics/news/entries';
const EVENTS = { accept: 'text/event-stream' };
const EVENTS_ASKED = 'Accept: text/event-stream\r\n';
const ONE = '{"number":1,"text":"","content":""}';
const TWO = '{"number":2,"text":"","content":""}';
/** A request for a stream whose body does not arrive. */
const UNFINISHED =
  'POST /v1/entries:follow HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n';

function entry(number: number): Buffer {
  return feedMessage('Entry', { number });
}

/** The reason of the error in the line after the first message. */
const reasonAtEnd = (text: string): unknown => reasonOf({ text: text.split('\n')[1] ?? '' });

function endsWith(code: status, details = 'It failed.'): (call: FeedCall) => void {
  return (call) => void call.emit('error', { code, details });
}

/** Sends headers with a quota. */
function sendQuota(call: FeedCall): void {
  const metadata = new Metadata();
  metadata.set('x-quota', '3');
  call.sendMetadata(metadata);
}

/** Sends two messages and ends with OK. */
function sendTwo(call: FeedCall): void {
  call.write(entry(1));
  call.write(entry(2));
  call.end();
}

/** Sends a message, and fails once `fail` is called. */
function failingAfterOne(): { answer: (call: FeedCall) => void; fail: () => void } {
  const failing = new Deferred();
  return {
    answer: (call) => {
      call.write(entry(1));
      void failing.promise.then(() => {
        endsWith(status.ABORTED)(call);
      });
    },
    fail: failing.resolve,
  };
}

/** Sends a message and never ends. `gone` resolves when the client has disconnected. */
function endless(): { answer: (call: FeedCall) => void; gone: Promise<void> } {
  const { promise, resolve } = new Deferred();
  return {
    answer: (call) => {
      call.on('cancelled', resolve);
      call.write(entry(1));
    },
    gone: promise,
  };
}

/** Sends large messages as fast as they are read, and counts them. */
function flood(): { answer: (call: FeedCall) => void; sent: () => number; gone: Promise<void> } {
  const { promise, resolve } = new Deferred();
  const large = feedMessage('Entry', { text: 'x'.repeat(400_000) });
  let sent = 0;
  return {
    answer: (call) => {
      let cancelled = false;
      call.on('cancelled', () => {
        cancelled = true;
        resolve();
      });
      const send = (): void => {
        while (!cancelled) {
          sent += 1;
          if (!call.write(large)) break;
        }
      };
      call.on('drain', send);
      send();
    },
    sent: () => sent,
    gone: promise,
  };
}

/** Sends a request, and reads nothing until the socket is resumed. */
function stalled(origin: string, path = ENTRIES, head = ''): Socket {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined).pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${head}\r\n`);
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Reads from a socket. Returns a function that waits until what has arrived matches, and never advances timers. */
function readingFrom(socket: Socket): (matches: (received: string) => boolean) => Promise<void> {
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString())).resume();
  return async (matches) => {
    while (!matches(received)) await once(socket, 'data');
  };
}

/** Stops the timers until the test advances them, as `expect.poll` does, too. */
function stopTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
}

type Item = Awaited<ReturnType<ReplyStream['next']>>;

const OK = { code: status.OK, details: '', answered: true };

function streaming(stream: ReplyStream): Upstream {
  return {
    unary: () => ({ code: status.UNIMPLEMENTED, details: '', answered: true }),
    serverStream: () => stream,
  };
}

/** An upstream in this process whose stream returns these items, and then those of `send`, each once. */
function queued(...items: Item[]): Upstream & { readonly send: (...more: Item[]) => void } {
  const asking: ((item: Item) => void)[] = [];
  const meet = (): void => {
    while (items.length > 0 && asking.length > 0) asking.shift()?.(items.shift() ?? OK);
  };
  const next = (): Promise<Item> =>
    new Promise((resolve) => {
      asking.push(resolve);
      meet();
    });
  return {
    ...streaming({ next }),
    send: (...more) => {
      items.push(...more);
      meet();
    },
  };
}

/** A feed whose channel is connected, so that a stream starts long before its time limit. */
async function connectedFeed(...args: Parameters<typeof startFeed>): ReturnType<typeof startFeed> {
  const feed = await startFeed(...args);
  await httpRequest(feed.origin, { path: '/v1/files/any' });
  return feed;
}

/** Sends a request with fetch. `text` returns what has arrived so far. */
async function reading(
  url: string,
  init: RequestInit = {},
): Promise<{ response: Response; text: () => string; ended: Promise<void>; leave: () => void }> {
  const controller = new AbortController();
  const response = await fetch(url, { ...init, signal: controller.signal });
  let text = '';
  const decoder = new TextDecoder();
  const read = async (): Promise<void> => {
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk);
  };
  return {
    response,
    text: () => text,
    ended: read().catch(() => undefined),
    leave: () => {
      controller.abort();
    },
  };
}

describe('a stream', () => {
  it('is sent as one line of JSON per message', async () => {
    const feed = await startFeed(sendTwo);
    const { status: code, headers, text } = await httpRequest(feed.origin, { path: ENTRIES });
    expect([code, text]).toEqual([200, `${ONE}\n${TWO}\n`]);
    expect(headers).toMatchObject({
      'content-type': 'application/x-ndjson',
      'cache-control': 'no-store, no-transform',
      vary: 'Accept',
      'x-accel-buffering': 'no',
      'transfer-encoding': 'chunked',
    });
    expect(headers).not.toHaveProperty('etag');
    expect(feed.log.filter(({ level }) => level !== 'debug')).toEqual([]);
    expect(feed.outcomes).toMatchObject([
      { template: '/v1/topics/{topic}/entries', status: 200, reason: undefined },
    ]);
  });

  it('can be requested with a body, which becomes the request of the call', async () => {
    const requests: Buffer[] = [];
    const feed = await startFeed((call) => {
      requests.push(call.request);
      call.end();
    });
    const body = '{"topic":"news","count":3}';
    const request = { method: 'POST', path: '/v1/entries:follow', body };
    const answer = await httpRequest(feed.origin, {
      ...request,
      headers: { 'content-type': 'application/json' },
    });
    expect([answer.status, answer.text]).toEqual([200, '']);
    expect(requests).toEqual([feedMessage('FollowRequest', { topic: 'news', count: 3 })]);
  });

  it('consists of one field of each message if its rule says so', async () => {
    const feed = await startFeed((call) => {
      call.write(feedMessage('Entry', { text: 'line\nbreak' }));
      call.end();
    });
    expect((await httpRequest(feed.origin, { path: '/v1/topics/news/texts' })).text).toBe('"line\\nbreak"\n');
  });

  it('is sent as the lines of grpc-gateway with the option lenient', async () => {
    const feed = await startFeed(
      (call) => {
        call.write(entry(1));
        call.write(feedMessage('Entry', { content: Buffer.alloc(3_000).toString('base64') }));
        call.end();
      },
      { lenient: true },
    );
    const { headers, text } = await httpRequest(feed.origin, { path: ENTRIES });
    expect(headers['content-type']).toBe('application/json');
    const [first, second, ...others] = text.split('\n');
    expect([first, others]).toEqual([`{"result":${ONE}}`, ['']]);
    expect(JSON.parse(String(second))).toMatchObject({ result: { number: 0 } });
  });

  it.each([
    'text/event-stream',
    'TEXT/event-stream',
    'text/html, text/event-stream;q=0.5',
    'text/event-stream ; charset=utf-8; q=0.001, */*',
  ])('is sent as events if Accept is %s', async (accept) => {
    const feed = await startFeed(sendTwo);
    const { headers, text } = await httpRequest(feed.origin, { path: ENTRIES, headers: { accept } });
    expect(headers['content-type']).toBe('text/event-stream');
    expect(text).toBe(`data: ${ONE}\n\ndata: ${TWO}\n\nevent: end\ndata: {}\n\n`);
  });

  it.each([
    '*/*',
    'application/json',
    'text/event-stream;q=0',
    'text/event-stream; a=b; q=0.000, */*',
    'text/event-streams',
  ])('is sent as lines if Accept is %s', async (accept) => {
    const feed = await startFeed(sendTwo);
    const { headers } = await httpRequest(feed.origin, { path: ENTRIES, headers: { accept } });
    expect(headers['content-type']).toBe('application/x-ndjson');
  });

  it('ends with the connection for an HTTP/1.0 client', async () => {
    const feed = await startFeed(sendTwo);
    const received = await rawExchange(
      feed.origin,
      `GET ${ENTRIES} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n`,
    );
    expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n/);
    expect(received.slice(received.indexOf('\r\n\r\n') + 4)).toBe(`${ONE}\n${TWO}\n`);
  });

  it('sends only the head for HEAD, and its call is cancelled', async () => {
    const { answer, gone } = endless();
    const feed = await startFeed(answer);
    const { headers, ...head } = await httpRequest(feed.origin, { method: 'HEAD', path: ENTRIES });
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(headers['content-type']).toBe('application/x-ndjson');
    await gone;
    expect(feed.outcomes).toMatchObject([{ status: 200, reason: undefined }]);
  });
});

const GARBLED = Buffer.from([0xff]);

describe('a failing stream', () => {
  it('is a regular error response before its first message', async () => {
    const feed = await startFeed(endsWith(status.NOT_FOUND));
    const answer = await httpRequest(feed.origin, { path: ENTRIES, headers: EVENTS });
    expect([answer.status, answer.headers['content-type']]).toEqual([404, 'application/json']);
    expect(errorOf(answer)).toMatchObject({ code: 404, status: 'NOT_FOUND', message: 'It failed.' });
    expect(feed.outcomes).toMatchObject([{ status: 404, reason: 'NOT_FOUND' }]);
  });

  it('is a regular error response even after the headers of its server', async () => {
    const feed = await startFeed(
      (call) => {
        sendQuota(call);
        setImmediate(endsWith(status.UNAUTHENTICATED), call);
      },
      { responseHeaders: new Map([['x-quota', 'X-Quota']]) },
    );
    const answer = await httpRequest(feed.origin, { path: ENTRIES });
    expect([answer.status, answer.headers['x-quota']]).toEqual([401, '3']);
    expect(answer.headers['www-authenticate']).toContain('Bearer');
  });

  it('ends with an error line after its first message, and its reason is logged and observed', async () => {
    const { answer, fail } = failingAfterOne();
    const feed = await startFeed(answer);
    const { response, text, ended } = await reading(feed.origin + ENTRIES);
    expect(response.status).toBe(200);
    await expect.poll(text).toBe(`${ONE}\n`);
    expect(feed.outcomes).toEqual([]);
    fail();
    await ended;
    expect(reasonAtEnd(text())).toBe('ABORTED');
    expect(feed.outcomes).toMatchObject([{ status: 200, reason: 'ABORTED' }]);
    expect(feed.log).toMatchObject([
      { level: 'info', message: 'request refused', fields: { status: 200, reason: 'ABORTED' } },
    ]);
  });

  it('ends with an event of the type failure if it is sent as events', async () => {
    const { answer, fail } = failingAfterOne();
    const feed = await startFeed(answer);
    const { text, ended } = await reading(feed.origin + ENTRIES, { headers: EVENTS });
    await expect.poll(text).toBe(`data: ${ONE}\n\n`);
    fail();
    await ended;
    expect(text()).toMatch(/\n\nevent: failure\ndata: \{"error":\{"code":409,[^\n]*\}\}\n\n$/);
  });

  it('says that the service is unavailable if its server dies', async () => {
    const { answer } = endless();
    const feed = await startFeed(answer);
    const { text, ended } = await reading(feed.origin + ENTRIES);
    await expect.poll(text).toBe(`${ONE}\n`);
    feed.kill();
    await ended;
    expect(reasonAtEnd(text())).toBe('UPSTREAM_UNAVAILABLE');
    expect(feed.log).toMatchObject([
      { level: 'warn', message: 'request failed' },
      { level: 'info', message: 'request refused', fields: { status: 200, reason: 'UPSTREAM_UNAVAILABLE' } },
    ]);
  });

  it('ends with an INTERNAL line if a later message cannot be decoded', async () => {
    const { promise: shown, resolve: goOn } = new Deferred();
    const feed = await startFeed((call) => {
      call.write(entry(1));
      void shown.then(() => call.write(GARBLED));
    });
    const { response, text, ended } = await reading(feed.origin + ENTRIES);
    await expect.poll(text).toBe(`${ONE}\n`);
    goOn();
    await ended;
    expect([response.status, reasonAtEnd(text())]).toEqual([200, 'INTERNAL']);
    expect(feed.log.filter(({ level }) => level === 'error')).toHaveLength(1);
  });
});

describe('the head of a stream without messages', () => {
  it('is sent a second after the headers of its server', async () => {
    const { promise: continued, resolve: goOn } = new Deferred();
    const feed = await startFeed(
      (call) => {
        sendQuota(call);
        void continued.then(() => {
          sendTwo(call);
        });
      },
      { responseHeaders: new Map([['x-quota', 'X-Quota']]) },
    );
    const { response, text, ended } = await reading(feed.origin + ENTRIES, { headers: EVENTS });
    expect([response.status, response.headers.get('x-quota')]).toEqual([200, '3']);
    await expect.poll(text).toBe(':\n\n');
    goOn();
    await ended;
    expect(text()).toBe(`:\n\ndata: ${ONE}\n\ndata: ${TWO}\n\nevent: end\ndata: {}\n\n`);
  });
});

describe('the client of a stream', () => {
  it('cancels the call when it disconnects', async () => {
    const { answer, gone } = endless();
    const feed = await startFeed(answer);
    const { text, leave } = await reading(feed.origin + ENTRIES);
    await expect.poll(text).toBe(`${ONE}\n`);
    leave();
    await gone;
    await expect.poll(() => feed.outcomes).toMatchObject([{ status: undefined, reason: undefined }]);
    expect(feed.log).toMatchObject([{ message: 'client gone' }]);
  });

  it('cancels the call when it disconnects before the first message', async () => {
    const gone = new Deferred();
    const come = new Deferred();
    const feed = await startFeed((call) => {
      call.on('cancelled', gone.resolve);
      come.resolve();
    });
    const socket = stalled(feed.origin);
    await come.promise;
    socket.destroy();
    await gone.promise;
    await expect.poll(() => feed.log).toMatchObject([{ message: 'client gone' }]);
  });

  it('cancels the call and frees its place when it disconnects while the stream waits for an earlier response', async () => {
    const first = endless();
    const second = endless();
    let calls = 0;
    const feed = await startFeed(
      (call) => {
        calls += 1;
        (calls === 1 ? first : second).answer(call);
      },
      { maxStreams: 2 },
    );
    const socket = stalled(feed.origin);
    socket.write(`GET ${ENTRIES} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await expect.poll(() => calls).toBe(2);
    expect((await httpRequest(feed.origin, { path: ENTRIES })).status).toBe(429);
    socket.destroy();
    await Promise.all([first.gone, second.gone]);
    await expect.poll(() => feed.outcomes).toMatchObject([{ status: 429 }, {}, {}]);
    const { response } = await reading(feed.origin + ENTRIES);
    expect(response.status).toBe(200);
  });

  it('pauses the stream of the server while it does not read, and resumes it when it reads', async () => {
    const { answer, sent, gone } = flood();
    const feed = await startFeed(answer);
    const socket = stalled(feed.origin);
    const paused = await settled(sent);
    socket.resume();
    await expect.poll(sent).toBeGreaterThan(paused + 40);
    socket.destroy();
    await gone;
  });
});

describe('a stream of an upstream in the same process', () => {
  it('gets a comment after every 15 seconds without a message if it is sent as events, and loses no message', async () => {
    const { send, ...upstream } = queued(entry(1));
    const feed = await startFeed(sendTwo, { upstream });
    stopTimers();
    const received = readingFrom(stalled(feed.origin, ENTRIES, EVENTS_ASKED));
    let events: string[] = [];
    const numberIs = (count: number) => (text: string) =>
      (events = text.match(/^(?::|data: .*)$/gm) ?? []).length === count;
    await received(numberIs(1));
    await new Promise(setImmediate);
    vi.advanceTimersByTime(15_000);
    await received(numberIs(2));
    await new Promise(setImmediate);
    vi.advanceTimersByTime(10_000);
    send(entry(1), entry(2));
    await received(numberIs(4));
    await new Promise(setImmediate);
    vi.advanceTimersByTime(14_999);
    send(OK);
    await received((text) => numberIs(5)(text) && text.endsWith('\r\n0\r\n\r\n'));
    const [first, second] = [`data: ${ONE}`, `data: ${TWO}`];
    expect(events).toEqual([first, ':', first, second, 'data: {}']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is observed with its status as the reason if its failure names none', async () => {
    const details = toBinary(
      StatusSchema,
      create(StatusSchema, {
        code: 9,
        message: 'No.',
        details: [anyPack(RequestInfoSchema, create(RequestInfoSchema))],
      }),
    );
    const end = {
      code: status.FAILED_PRECONDITION,
      details: 'No.',
      answered: true,
      trailers: { get: (key: string) => (key === 'grpc-status-details-bin' ? [details] : []) },
    };
    const coming = [entry(1)];
    const stream = { next: () => Promise.resolve(coming.shift() ?? end) };
    const feed = await startFeed(sendTwo, { upstream: streaming(stream) });
    const { text } = await httpRequest(feed.origin, { path: ENTRIES });
    expect(text).toContain('"status":"FAILED_PRECONDITION"');
    expect(feed.outcomes).toMatchObject([{ status: 200, reason: 'FAILED_PRECONDITION' }]);
  });

  it('ends at once, and leaves no timer, for a client that disconnected before it started', async () => {
    const calls: UnaryCall[] = [];
    const upstream = queued();
    let arrived = 0;
    const serverStream = (call: UnaryCall): ReplyStream => {
      calls.push(call);
      return { next: () => Promise.resolve({ code: status.CANCELLED, details: '', answered: false }) };
    };
    const feed = await startFeed(
      sendTwo,
      { upstream: { ...upstream, serverStream }, maxStreams: 1, streamMs: 54_321 },
      (handler) => (request, response) => {
        arrived += 1;
        void once(request.socket, 'close').then(() => {
          handler(request, response);
        });
      },
    );
    stopTimers();
    const set = vi.spyOn(globalThis, 'setTimeout');
    onTestFinished(() => void vi.restoreAllMocks());
    for (const expected of [1, 2]) {
      const socket = stalled(feed.origin);
      await expect.poll(() => arrived).toBe(expected);
      socket.destroy();
      await expect.poll(() => feed.outcomes.length).toBe(expected);
    }
    expect(calls.map(({ cancellation }) => cancellation.cancelled)).toEqual([true, true]);
    expect(feed.log).toMatchObject([{ message: 'client gone' }, { message: 'client gone' }]);
    // Not the number of timers: other tests of the process may have left some.
    const limits = set.mock.calls.map(([, ms]) => Number(ms)).filter((ms) => ms > 50_000 && ms <= 54_321);
    expect(limits).toEqual([]);
  });
});

describe('the time limit of a stream', () => {
  it('is streamMs', async () => {
    const { answer, gone } = endless();
    const feed = await connectedFeed(answer, { streamMs: 60_000 });
    stopTimers();
    const { text, ended } = await reading(feed.origin + ENTRIES);
    await expect.poll(text).toBe(`${ONE}\n`);
    vi.advanceTimersByTime(60_000);
    await ended;
    expect(reasonAtEnd(text())).toBe('DEADLINE_EXCEEDED');
    await gone;
  });

  it('is shorter if the client requests less', async () => {
    const feed = await startFeed((call) => void call.on('cancelled', () => undefined), {
      streamMs: Infinity,
    });
    const headers = { 'request-timeout': '0.2' };
    const answer = await httpRequest(feed.origin, { path: ENTRIES, headers });
    expect([answer.status, reasonOf(answer)]).toEqual([504, 'DEADLINE_EXCEEDED']);
  });

  it('may be infinite, and is not deadlineMs', async () => {
    const { answer, fail } = failingAfterOne();
    const feed = await startFeed(answer, { deadlineMs: 50, streamMs: Infinity });
    const { text, ended } = await reading(feed.origin + ENTRIES);
    expect(await rawExchange(feed.origin, UNFINISHED)).toMatch(/^HTTP\/1\.1 504 /);
    fail();
    await ended;
    expect(reasonAtEnd(text())).toBe('ABORTED');
  });

  it.each([
    ['by itself', [OK]],
    ['by its time limit', []],
  ])('of a stream that has ended %s does not cut its connection', async (_, ends) => {
    const upstream = queued(entry(1), ...ends);
    const feed = await startFeed(sendTwo, { upstream, streamMs: 60_000 });
    stopTimers();
    const socket = stalled(feed.origin);
    const received = readingFrom(socket);
    await received((text) => text.includes(ONE));
    vi.advanceTimersByTime(60_000);
    await received((text) => text.endsWith('\r\n0\r\n\r\n'));
    await expect.poll(() => feed.outcomes.length).toBe(1);
    vi.advanceTimersByTime(10_000);
    socket.write('GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n');
    await received((text) => text.includes('HTTP/1.1 404 '));
  });

  it('applies a second later to a client that does not read', async () => {
    const { answer, gone } = flood();
    const feed = await connectedFeed(answer, { streamMs: 1_000 });
    const socket = stalled(feed.origin);
    await gone;
    await expect.poll(() => feed.outcomes.at(-1)).toMatchObject({ status: 200, reason: 'DEADLINE_EXCEEDED' });
    socket.destroy();
  });
});

describe('the number of streams', () => {
  it('is limited separately from other requests, from their start to their end', async () => {
    const { answer } = endless();
    const feed = await startFeed(answer, { maxStreams: 1, maxRequests: 0 });
    const { response, leave } = await reading(feed.origin + ENTRIES);
    expect(response.status).toBe(200);
    const refused = await httpRequest(feed.origin, { path: ENTRIES });
    expect([refused.status, reasonOf(refused)]).toEqual([429, 'OVERLOADED']);
    expect(errorOf(refused).message).toContain('It has 1 streams under way.');
    leave();
    await expect.poll(async () => (await reading(feed.origin + ENTRIES)).response.status).toBe(200);
  });
});

describe('a server that shuts down', () => {
  it('ends its streams with SHUTTING_DOWN and refuses new ones', async () => {
    const { answer, gone } = endless();
    const feed = await startFeed(answer);
    const { text, ended } = await reading(feed.origin + ENTRIES);
    await expect.poll(text).toBe(`${ONE}\n`);
    feed.end();
    await ended;
    await gone;
    expect(reasonAtEnd(text())).toBe('SHUTTING_DOWN');
    const later = await httpRequest(feed.origin, { path: ENTRIES });
    expect([later.status, reasonOf(later)]).toEqual([503, 'SHUTTING_DOWN']);
    expect(feed.outcomes).toMatchObject([
      { status: 200, reason: 'SHUTTING_DOWN' },
      { status: 503, reason: 'SHUTTING_DOWN' },
    ]);
  });

  it('responds with 503 to streams that wait for their first message', async () => {
    const come = new Deferred();
    const feed = await startFeed(() => {
      come.resolve();
    });
    const answer = httpRequest(feed.origin, { path: ENTRIES });
    await come.promise;
    feed.end();
    expect(await answer).toMatchObject({ status: 503 });
  });

  it('cuts off a client that does not read the last line within a second', async () => {
    const { answer, gone } = flood();
    const responses: ServerResponse[] = [];
    const feed = await startFeed(answer, {}, (handler) => (request, response) => {
      responses.push(response);
      handler(request, response);
    });
    const socket = stalled(feed.origin).resume();
    await once(socket, 'data');
    socket.pause();
    await stuck(() => responses[0]?.socket);
    stopTimers();
    feed.end();
    vi.advanceTimersByTime(999);
    expect((await httpRequest(feed.origin, { path: ENTRIES })).status).toBe(503);
    expect(feed.outcomes).toHaveLength(1);
    vi.advanceTimersByTime(1);
    await gone;
    await expect.poll(() => feed.outcomes.at(1)).toMatchObject({ status: 200, reason: 'SHUTTING_DOWN' });
    socket.destroy();
  });
});
