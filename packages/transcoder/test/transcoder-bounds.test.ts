import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Code } from '../src/gen/google/rpc/code_pb.js';
import { MAX_UNSENT } from '../src/http/request-queue.js';
import type { LogKind } from '../src/log.js';
import type { Guard, UnaryCall, Upstream } from '../src/upstream.js';
import { errorOf, httpRequest, reasonOf, rawExchange } from './support/http-request.js';
import { LibraryServer, MEMBER } from './support/library-server.js';
import { type RunningTranscoder, startTranscoder } from './support/library-transcoder.js';
import { opening } from './support/opening.js';

async function start(...given: Parameters<typeof startTranscoder>): Promise<RunningTranscoder> {
  return opening(await startTranscoder(...given));
}

/** Longer than a test may take, in milliseconds. */
const NEVER_MS = 60_000;
const BODY = '{"theme":"x"}';
const AS_MEMBER = `Authorization: ${MEMBER}`;

/** The head of a create whose body has the given length. */
function head(length: number, ...lines: string[]): string {
  return [
    'POST /v1/shelves HTTP/1.1',
    'Host: x',
    'Content-Type: application/json',
    `Content-Length: ${length}`,
    ...lines,
    '',
    '',
  ].join('\r\n');
}

/** A chunked body with a single chunk. */
function chunked(text: string): Buffer {
  return Buffer.from(`${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`);
}

/** The head of a create of an unauthenticated client whose body comes in chunks. */
const CHUNKED = head(0).replace('Content-Length: 0', 'Transfer-Encoding: chunked');

/** Opens a connection and records everything that it receives. */
function open({ origin }: RunningTranscoder): {
  socket: Socket;
  received: () => string;
  closed: Promise<unknown>;
} {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1');
  let received = '';
  socket
    .on('data', (data: Buffer) => (received += data.toString('latin1')))
    // A client that keeps sending may write to a closed connection.
    .on('error', () => undefined);
  onTestFinished(() => {
    socket.destroy();
  });
  return {
    socket,
    received: () => received,
    closed: new Promise((resolve) => socket.once('close', resolve)),
  };
}

/** The reason of the error in the last response received. */
function reasonIn(received: string): unknown {
  return reasonOf({ text: received.split('\r\n\r\n').at(-1) ?? '' });
}

/** A library that counts its calls and its guard checks. */
function counted(): { upstream: Upstream; guard: Guard; calls: UnaryCall[]; guarded: () => number } {
  const library = new LibraryServer();
  const calls: UnaryCall[] = [];
  let guarded = 0;
  return {
    calls,
    guarded: () => guarded,
    upstream: {
      unary: (call) => {
        calls.push(call);
        return library.unary(call);
      },
    },
    guard: (call) => {
      guarded += 1;
      return library.guard(call);
    },
  };
}

/** The same with a guard that admits everybody, and for which everybody is a member. */
function admittingAll(): ReturnType<typeof counted> {
  const { upstream, ...library } = counted();
  let guarded = 0;
  return {
    ...library,
    upstream: {
      unary: (call) =>
        upstream.unary({ ...call, metadata: new Map(call.metadata).set('authorization', MEMBER) }),
    },
    guard: () => {
      guarded += 1;
      return { code: Code.OK, details: '', answered: true };
    },
    guarded: () => guarded,
  };
}

describe('a body', () => {
  const whole = [
    { what: 'one chunk', body: chunked(BODY), lines: ['Transfer-Encoding: chunked'] },
    { what: '64 KiB', body: Buffer.from(BODY.padEnd(65_536)), lines: [] },
  ].map(({ what, body, lines }) => ({
    what,
    create: (...more: string[]): Buffer => {
      const full = head(body.length, 'Connection: close', ...lines, ...more);
      return Buffer.concat([
        Buffer.from(lines.length === 0 ? full : full.replace(/Content-Length.*\r\n/, '')),
        body,
      ]);
    },
  }));

  it.each(whole)(
    'makes one call and no guard check if it arrives with its head: $what',
    async ({ create }) => {
      const { calls, guarded, ...server } = counted();
      const gateway = await start(server);
      expect(await rawExchange(gateway.origin, create(AS_MEMBER))).toMatch(/^HTTP\/1\.1 201 /);
      expect(await rawExchange(gateway.origin, create())).toMatch(/^HTTP\/1\.1 401 /);
      expect([calls.length, guarded()]).toEqual([2, 0]);
    },
  );

  it('is refused as malformed after one guard check if it is invalid', async () => {
    const { calls, guarded, ...server } = counted();
    const gateway = await start(server);
    const request = `${head(1, AS_MEMBER, 'Connection: close')}x`;
    expect(reasonIn(await rawExchange(gateway.origin, request))).toBe('REQUEST_MALFORMED');
    expect([calls.length, guarded()]).toEqual([0, 1]);
  });

  it('makes its call after one guard check, with the time that is left, if it arrives later than its head', async () => {
    const { calls, guarded, ...server } = counted();
    const gateway = await start({ ...server, deadlineMs: NEVER_MS });
    const { socket, received } = open(gateway);
    const sentMs = Date.now();
    socket.write(head(BODY.length, AS_MEMBER));
    await expect.poll(guarded).toBe(1);
    const askedMs = Date.now();
    await expect.poll(() => Date.now()).toBeGreaterThan(askedMs);
    expect(calls).toEqual([]);
    socket.write(BODY);
    await expect.poll(received).toMatch(/^HTTP\/1\.1 201 [^]*Connection: keep-alive\r\n/);
    expect(guarded()).toBe(1);
    const deadline = Number(calls[0]?.deadline);
    expect(deadline).toBeGreaterThanOrEqual(sentMs + NEVER_MS);
    expect(deadline).toBeLessThanOrEqual(askedMs + NEVER_MS);
  });

  it.each([
    { what: 'one byte at a time', bytes: '1\r\n \r\n' },
    { what: 'as much as it can', bytes: `10000\r\n${' '.repeat(65_536)}\r\n` },
  ])('is refused at once, with the reason, if an unauthenticated client sends $what', async ({ bytes }) => {
    const { guarded, guard, upstream } = counted();
    const gateway = await start({ guard, upstream, deadlineMs: NEVER_MS });
    const { socket, received, closed } = open(gateway);
    socket.pause();
    socket.write(CHUNKED);
    const writing = setInterval(() => {
      if (socket.writable) socket.write(bytes);
    }, 5);
    await expect.poll(guarded).toBe(1);
    // If the server reset the connection, a client that reads late would lose the response.
    socket.resume();
    await closed;
    clearInterval(writing);
    expect(received()).toMatch(/^HTTP\/1\.1 401 [^]*Connection: close\r\n/);
    expect(reasonIn(received())).toBe('TOKEN_MISSING');
  });

  it('keeps its connection open for at most half a second if an unauthenticated client stops sending', async () => {
    const gateway = await start({ deadlineMs: NEVER_MS });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { socket, received, closed } = open(gateway);
    socket.write(head(9));
    await expect.poll(() => reasonIn(received())).toBe('TOKEN_MISSING');
    vi.advanceTimersByTime(500);
    await closed;
  });

  it.each([
    ['9 bytes of an unauthenticated client', head(9), Buffer.alloc(9)],
    ['9 bytes for an unknown path', head(9).replace('/v1/', '/v0/'), Buffer.alloc(9)],
    ['8 MiB, whose length is known and too large', head(8_388_608, AS_MEMBER), Buffer.alloc(8_388_608)],
    ['8 MiB in chunks of an unauthenticated client', CHUNKED, chunked('x'.repeat(8_388_608))],
  ])(
    'closes its connection as soon as the rest of it has arrived after its refusal: %s',
    async (...given) => {
      const [, bytes, rest] = given;
      const gateway = await start({ deadlineMs: NEVER_MS });
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      onTestFinished(() => void vi.useRealTimers());
      const { socket, closed } = open(gateway);
      socket.write(bytes);
      await once(socket, 'data');
      // A client that cannot send its whole request, such as Python's, does not read the response.
      await new Promise((resolve) => socket.write(rest, resolve));
      await closed;
    },
  );

  const guards = [
    { who: 'admitted by the guard', options: {} },
    { who: 'without a guard', options: { guard: undefined } },
    { who: 'with a guard that never returns', options: { guard: () => new Promise<never>(() => undefined) } },
  ];
  it.each(guards)('ends at the deadline even if it trickles in, from a client $who', async ({ options }) => {
    const gateway = await start({ ...options, deadlineMs: 100 });
    const { socket, received } = open(gateway);
    socket.write(head(1_000, AS_MEMBER));
    const writing = setInterval(() => socket.write(' '), 20);
    await expect.poll(() => reasonIn(received())).toBe('DEADLINE_EXCEEDED');
    clearInterval(writing);
    expect(received()).toMatch(/^HTTP\/1\.1 504 [^]*Connection: close\r\n/);
  });

  it('ends after the Request-Timeout of its client', async () => {
    const gateway = await start({ deadlineMs: NEVER_MS });
    const { socket, received } = open(gateway);
    socket.write(head(9, AS_MEMBER, 'Request-Timeout: 0.05'));
    await expect.poll(() => reasonIn(received())).toBe('DEADLINE_EXCEEDED');
  });

  it('is an internal error if the guard throws', async () => {
    const guard = (): Promise<never> => Promise.reject(new Error('secret'));
    const gateway = await start({ guard, deadlineMs: NEVER_MS });
    const { socket, received } = open(gateway);
    socket.write(head(9, AS_MEMBER));
    await expect.poll(() => reasonIn(received())).toBe('INTERNAL');
    expect(received()).toMatch(/^HTTP\/1\.1 500 /);
    expect(received()).not.toContain('secret');
  });

  it('causes only one guard check if it arrives late and is invalid', async () => {
    const { guarded, calls, ...server } = counted();
    const gateway = await start(server);
    const { socket, received } = open(gateway);
    socket.write(head(1, AS_MEMBER));
    await expect.poll(guarded).toBe(1);
    socket.write('{');
    await expect.poll(received).toMatch(/^HTTP\/1\.1 400 /);
    expect([guarded(), calls.length]).toEqual([1, 0]);
  });

  it.each([
    { why: 'its path is unknown', request: head(9).replace('/v1/', '/v0/'), status: 404 },
    { why: 'OPTIONS reads no body', request: head(9).replace('POST', 'OPTIONS'), status: 204 },
    { why: 'it is too large', request: head(65_537, AS_MEMBER), status: 413 },
  ])('is not waited for if $why', async ({ request, status }) => {
    const gateway = await start({ deadlineMs: NEVER_MS });
    const { socket, received } = open(gateway);
    socket.write(request);
    await expect.poll(received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*Connection: close\r\n`));
  });
});

describe('a client that expects 100 Continue', () => {
  const EXPECT = 'Expect: 100-continue';

  it('gets it once the guard has admitted the client', async () => {
    const gateway = await start();
    const { socket, received } = open(gateway);
    socket.write(head(BODY.length, AS_MEMBER, EXPECT));
    await expect.poll(received).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write(BODY);
    await expect.poll(received).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /);
  });

  it.each([
    { why: 'it has no token', request: head(9, EXPECT), status: 401 },
    { why: 'its body is too large', request: head(65_537, AS_MEMBER, EXPECT), status: 413 },
    { why: 'its path is unknown', request: head(9, EXPECT).replace('/v1/', '/v0/'), status: 404 },
    {
      why: 'its content coding is unknown',
      request: head(9, AS_MEMBER, EXPECT, 'Content-Encoding: x'),
      status: 415,
    },
    {
      why: 'its body arrives with the head',
      request: head(BODY.length, AS_MEMBER, EXPECT, 'Connection: close') + BODY,
      status: 201,
    },
  ])('gets the final response instead if $why', async ({ request, status }) => {
    const gateway = await start({ deadlineMs: NEVER_MS });
    const { socket, received } = open(gateway);
    socket.write(request);
    await expect.poll(received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  it.each([
    { what: 'a valid body', body: BODY, status: 201 },
    { what: 'an invalid body', body: BODY.replace('}', ' '), status: 400 },
  ])('gets it between an earlier response and its own: $what', async ({ body, status }) => {
    const { guarded, calls, upstream, guard } = counted();
    let answerFirst = (): void => undefined;
    const first = new Promise<void>((resolve) => (answerFirst = resolve));
    const holding: Upstream = {
      async unary(call) {
        const isFirst = calls.length === 0;
        const reply = await upstream.unary(call);
        if (isFirst) await first;
        return reply;
      },
    };
    let answered = 0;
    const observers = [{ begin: () => ({ end: () => void (answered += 1) }) }];
    const gateway = await start({ upstream: holding, guard, deadlineMs: NEVER_MS, observers });
    const { socket, received } = open(gateway);
    socket.write(head(BODY.length, AS_MEMBER) + BODY + head(BODY.length, AS_MEMBER, EXPECT));
    await expect.poll(guarded).toBe(1);
    socket.write(body);
    await expect.poll(() => answered).toBe(1);
    answerFirst();
    const whole = new RegExp(
      `^HTTP/1\\.1 201 (?:[^{]+)\\{[^{]+\\}HTTP/1\\.1 100 Continue\\r\\n\\r\\nHTTP/1\\.1 ${status} [^{]+\\r\\n\\r\\n\\{`,
    );
    await expect.poll(received).toMatch(whole);
  });

  it('does not get it after the final response', async () => {
    let admit = (): void => undefined;
    const guard: Guard = () =>
      new Promise((resolve) => {
        admit = () => {
          resolve({ code: Code.OK, details: '', answered: true });
        };
      });
    const gateway = await start({ guard, deadlineMs: 50 });
    const { socket, received, closed } = open(gateway);
    socket.write(head(9, AS_MEMBER, EXPECT));
    await expect.poll(received).toMatch(/^HTTP\/1\.1 504 /);
    admit();
    await closed;
    expect(received()).not.toContain('100 Continue');
  });
});

describe('a server that shuts down', () => {
  it('ends the requests whose bodies are still arriving, and serves the others', async () => {
    const { guarded, calls, ...server } = counted();
    const gateway = await start({ ...server, deadlineMs: NEVER_MS });
    const stalled = open(gateway);
    stalled.socket.write(head(9, AS_MEMBER));
    await expect.poll(guarded).toBe(1);
    gateway.end();
    await stalled.closed;
    expect(stalled.received()).toMatch(/^HTTP\/1\.1 503 [^]*Retry-After: 1\r\n[^]*Connection: close\r\n/);
    expect(reasonIn(stalled.received())).toBe('SHUTTING_DOWN');

    expect(reasonIn(await rawExchange(gateway.origin, head(9, AS_MEMBER)))).toBe('SHUTTING_DOWN');
    const whole = head(BODY.length, AS_MEMBER, 'Connection: close') + BODY;
    expect(await rawExchange(gateway.origin, whole)).toMatch(/^HTTP\/1\.1 201 /);
    expect(calls).toHaveLength(1);
  });
});

describe('requests in progress', () => {
  it('are limited, and others are refused without a guard check', async () => {
    const gateway = await start({ maxRequests: 2 });
    const hanging = [open(gateway), open(gateway)];
    for (const { socket } of hanging)
      socket.write(`GET /v1/hang HTTP/1.1\r\nHost: x\r\n${AS_MEMBER}\r\n\r\n`);
    const { origin } = gateway;
    const refused = await expect
      .poll(() => httpRequest(origin, { path: '/v1/shelves/1' }))
      .toMatchObject({ status: 429, headers: { 'retry-after': '1', 'cache-control': 'no-store' } })
      .then(() => httpRequest(origin, { path: '/v1/shelves/1' }));
    expect(errorOf(refused)).toMatchObject({
      status: 'RESOURCE_EXHAUSTED',
      message: 'The service is overloaded. It has 2 calls under way. Try again in a second.',
      details: [
        { reason: 'OVERLOADED' },
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1s' },
        { requestId: refused.headers['x-request-id'] },
      ],
    });
    expect((await httpRequest(origin, { path: '/nowhere' })).status).toBe(404);
    expect((await httpRequest(origin, { method: 'OPTIONS', path: '/v1/shelves' })).status).toBe(204);

    for (const { socket } of hanging) socket.destroy();
    await expect.poll(() => httpRequest(origin, { path: '/v1/shelves/1' })).toMatchObject({ status: 401 });
  });

  /** Begins a request of a caller whose body has not arrived. */
  const arrive = (gateway: RunningTranscoder, caller: number) => {
    const client = open(gateway);
    client.socket.write(head(BODY.length, `Authorization: Bearer ${caller}`));
    return client;
  };

  it.each([
    { maxRequests: 5, most: 2, why: 'It has 2 requests that are still arriving.' },
    { maxRequests: 1, most: 1, why: 'It has 1 calls under way.' },
  ])(
    'take at most $most of $maxRequests places while they arrive, so that complete ones find a place',
    async (given) => {
      const { maxRequests, most, why } = given;
      const { guarded, calls, ...server } = admittingAll();
      const gateway = await start({ ...server, maxRequests, deadlineMs: NEVER_MS });
      const held = Array.from({ length: most }, (_, caller) => arrive(gateway, caller));
      await expect.poll(guarded).toBe(most);
      const half = arrive(gateway, most);
      await expect.poll(half.received).toMatch(/^HTTP\/1\.1 429 [^]*Connection: close\r\n/);
      expect(half.received()).toContain(why);
      const whole = head(BODY.length, AS_MEMBER, 'Connection: close') + BODY;
      const served = maxRequests > most;
      expect(await rawExchange(gateway.origin, whole)).toMatch(served ? / 201 / : / 429 /);
      for (const { socket } of held) socket.write(BODY);
      for (const { received } of held) await expect.poll(received).toMatch(/^HTTP\/1\.1 201 /);
      const later = arrive(gateway, 0);
      later.socket.write(BODY);
      await expect.poll(later.received).toMatch(/^HTTP\/1\.1 201 /);
      expect(calls).toHaveLength(most + Number(served) + 1);
    },
  );

  it('take at most a quarter of these places for one caller while they arrive, and others find a place', async () => {
    const { guarded, guard, upstream } = admittingAll();
    const gateway = await start({ guard, upstream, maxRequests: 16, deadlineMs: NEVER_MS });
    const held = [arrive(gateway, 1), arrive(gateway, 1)];
    await expect.poll(guarded).toBe(2);
    const third = arrive(gateway, 1);
    await expect.poll(third.received).toContain('The caller has 2 requests that are still arriving.');
    const other = arrive(gateway, 2);
    await expect.poll(guarded).toBe(4);
    for (const { socket } of [other, ...held]) socket.write(BODY);
    for (const { received } of [other, ...held]) await expect.poll(received).toMatch(/^HTTP\/1\.1 201 /);
    const again = arrive(gateway, 1);
    await expect.poll(guarded).toBe(5);
    again.socket.write(BODY);
    await expect.poll(again.received).toMatch(/^HTTP\/1\.1 201 /);
  });

  it('take no place while they arrive before the guard has admitted them', async () => {
    const { guarded, guard, upstream } = admittingAll();
    const asking: Guard = (call) =>
      call.metadata.get('authorization') === 'Bearer 0' ? new Promise(() => undefined) : guard(call);
    const gateway = await start({ upstream, guard: asking, maxRequests: 8, deadlineMs: NEVER_MS });
    for (let i = 0; i < 6; i++) arrive(gateway, 0);
    const admitted = arrive(gateway, 1);
    await expect.poll(guarded).toBe(1);
    admitted.socket.write(BODY);
    await expect.poll(admitted.received).toMatch(/^HTTP\/1\.1 201 /);
  });

  it.each([
    { path: '/v1/hang', what: 'calls' },
    { path: '/nowhere', what: 'refusals' },
  ])('close their connection if too many of its responses are unsent: $what', async ({ path }) => {
    const { begun, observer } = countedRequests();
    const gateway = await start({ observers: [observer], deadlineMs: NEVER_MS });
    const { socket, closed } = open(gateway);
    socket.write(get(path).repeat(MAX_UNSENT + 3));
    await closed;
    expect(begun()).toBe(MAX_UNSENT);
    expect((await httpRequest(gateway.origin, { path: '/nowhere' })).status).toBe(404);
  });

  it('do not close their connection if as many responses have been sent', async () => {
    const gateway = await start();
    const { socket, received } = open(gateway);
    const answers = (): number => received().match(/HTTP\/1\.1 404/g)?.length ?? 0;
    for (const round of [1, 2, 3]) {
      socket.write(get('/nowhere').repeat(MAX_UNSENT));
      await expect.poll(answers).toBe(round * MAX_UNSENT);
    }
  });

  it('close their connection if too many on all connections wait for earlier responses, and others are served', async () => {
    const { begun, observer } = countedRequests();
    const gateway = await start({ observers: [observer], maxRequests: 3, deadlineMs: NEVER_MS });
    const [first, second] = [open(gateway), open(gateway)];
    first.socket.write(get('/v1/hang').repeat(3));
    await expect.poll(begun).toBe(3);
    second.socket.write(get('/v1/hang').repeat(3));
    await second.closed;
    expect(begun()).toBe(5);
    expect((await httpRequest(gateway.origin, { path: '/nowhere' })).status).toBe(404);
    first.socket.destroy();
    await first.closed;
    const third = open(gateway);
    third.socket.write(get('/nowhere').repeat(3));
    await expect.poll(third.received).toMatch(/(?:HTTP\/1\.1 404[^]*){3}/);
  });

  it('no longer count once their connection is gone, even if they were queued', async () => {
    const { begun, observer } = countedRequests();
    const gateway = await start({ observers: [observer], maxRequests: 4, deadlineMs: NEVER_MS });
    for (const round of [1, 2, 3]) {
      const dead = open(gateway);
      dead.socket.write(get('/v1/hang') + get('/nowhere').repeat(3));
      await expect.poll(begun).toBe(4 * round);
      dead.socket.resetAndDestroy();
      await expect.poll(gateway.connections).toBe(0);
    }
    const alive = open(gateway);
    alive.socket.write(get('/nowhere').repeat(4));
    await expect.poll(alive.received).toMatch(/(?:HTTP\/1\.1 404[^]*){4}/);
  });

  it('are cancelled when their connection is gone, even if they wait for an earlier response', async () => {
    const { upstream, calls } = counted();
    const gateway = await start({ upstream, deadlineMs: NEVER_MS });
    const dead = open(gateway);
    dead.socket.write(get('/v1/hang').repeat(2));
    await expect.poll(() => calls.length).toBe(2);
    const told = calls.map(
      ({ cancellation }) =>
        new Promise<void>((resolve) => {
          cancellation.onCancelled(resolve);
        }),
    );
    dead.socket.resetAndDestroy();
    await Promise.all(told);
    expect(calls.map(({ cancellation }) => cancellation.cancelled)).toEqual([true, true]);
  });

  it('do not count if middleware passes them on after their connection has closed', async () => {
    const late: (() => void)[] = [];
    const gateway = await start({ maxRequests: 1 }, {}, (handler) => (request, response) => {
      late.push(() => {
        handler(request, response);
      });
    });
    const dead = open(gateway);
    dead.socket.write(get('/nowhere').repeat(3));
    await expect.poll(() => late.length).toBe(3);
    dead.socket.resetAndDestroy();
    await expect.poll(gateway.connections).toBe(0);
    for (const handle of late.splice(0)) handle();
    const alive = open(gateway);
    alive.socket.write(get('/nowhere').repeat(2));
    await expect.poll(() => late.length).toBe(2);
    for (const handle of late) handle();
    await expect.poll(alive.received).toMatch(/(?:HTTP\/1\.1 404[^]*){2}/);
  });
});

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\n${AS_MEMBER}\r\n\r\n`;
}

/** An observer that counts requests when they begin. */
function countedRequests() {
  let count = 0;
  const observer = {
    begin: () => {
      count += 1;
      return { end: () => undefined };
    },
  };
  return { observer, begun: () => count };
}

describe('log lines', () => {
  /** Starts a gateway that writes only log lines of one kind. */
  async function onlyOf(kind: LogKind): Promise<RunningTranscoder> {
    return start({ mayLog: (each) => each === kind });
  }
  const nowhere = { path: '/nowhere' };
  const fault = { path: '/v1/shelves/1?wrong=1', headers: { authorization: MEMBER } };
  const unavailable = {
    method: 'POST',
    path: '/v1/fail',
    headers: { authorization: MEMBER, 'content-type': 'application/json' },
    body: JSON.stringify({ code: Code.UNAVAILABLE, details: 'unanswered' }),
  };
  const debug = { ...unavailable, body: JSON.stringify({ code: Code.CANCELLED, details: 'unanswered' }) };

  it.each<{ kind: LogKind; statuses: (number | string)[] }>([
    { kind: 'unauthenticated', statuses: [404, 401, 429, 503, 'debug', 499, 400] },
    { kind: 'callers', statuses: [400, 403, 'debug'] },
    { kind: 'causes', statuses: ['warn', 'debug'] },
  ])('can be limited to the kind $kind', async ({ kind, statuses }) => {
    const gateway = await onlyOf(kind);
    const { origin } = gateway;
    await httpRequest(origin, nowhere);
    await httpRequest(origin, { path: '/v1/shelves/1' });
    await httpRequest(origin, fault);
    await httpRequest(origin, { ...unavailable, body: JSON.stringify({ code: Code.PERMISSION_DENIED }) });
    await httpRequest(origin, { ...unavailable, body: JSON.stringify({ code: Code.RESOURCE_EXHAUSTED }) });
    await httpRequest(origin, unavailable);
    await httpRequest(origin, debug);
    await rawExchange(origin, 'nonsense\r\n\r\n');
    expect(gateway.log.map(({ level, fields }) => fields['status'] ?? level)).toEqual(statuses);
  });
});
