import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Code } from '../../src/gen/google/rpc/code_pb.js';
import { ArrivingBody } from '../../src/http/body.js';
import type { Guard, UnaryCall, Upstream } from '../../src/upstream.js';
import { errorOf, httpRequest, reasonOf, rawExchange } from '../support/http-request.js';
import { LibraryServer, MEMBER } from '../support/library-server.js';
import { openTranscoder, type RunningTranscoder } from '../support/library-transcoder.js';
import { getRequest, openConnection } from '../support/open-connection.js';
import { listening } from '../support/opening.js';

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

/** The reason of the error in the last response received. */
function reasonIn(received: string): unknown {
  return reasonOf({ text: received.split('\r\n\r\n').at(-1) ?? '' });
}

/** A library that counts its calls and its guard checks. @param admitsAll whether everybody is a member. */
function counted(admitsAll = false) {
  const library = new LibraryServer();
  const calls: UnaryCall[] = [];
  let guarded = 0;
  const judged = <Call extends Pick<UnaryCall, 'metadata'>>(call: Call): Call =>
    admitsAll ? { ...call, metadata: new Map(call.metadata).set('authorization', MEMBER) } : call;
  const unary: Upstream['unary'] = (call) => {
    calls.push(call);
    return library.unary(judged(call));
  };
  const guard: Guard = (call) => {
    guarded += 1;
    return library.guard(judged(call));
  };
  return { calls, guarded: () => guarded, upstream: { unary }, guard };
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
      const gateway = await openTranscoder(server);
      expect(await rawExchange(gateway.origin, create(AS_MEMBER))).toMatch(/^HTTP\/1\.1 201 /);
      expect(await rawExchange(gateway.origin, create())).toMatch(/^HTTP\/1\.1 401 /);
      expect([calls.length, guarded()]).toEqual([2, 0]);
    },
  );

  it('makes its call after one guard check, with the time that is left, if it arrives later than its head', async () => {
    const { calls, guarded, ...server } = counted();
    const gateway = await openTranscoder({ ...server, deadlineMs: NEVER_MS });
    const { socket, received } = openConnection(gateway);
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
    const gateway = await openTranscoder({ guard, upstream, deadlineMs: NEVER_MS });
    const { socket, received, closed } = openConnection(gateway);
    socket.pause();
    socket.write(CHUNKED);
    const writing = setInterval(() => socket.write(bytes), 5);
    await expect.poll(guarded).toBe(1);
    // If the server reset the connection, a client that reads late would lose the response.
    socket.resume();
    await closed;
    clearInterval(writing);
    expect(received()).toMatch(/^HTTP\/1\.1 401 [^]*Connection: close\r\n/);
    expect(reasonIn(received())).toBe('TOKEN_MISSING');
  });

  it('keeps its connection open for at most half a second if an unauthenticated client stops sending', async () => {
    const gateway = await openTranscoder({ deadlineMs: NEVER_MS });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { socket, received, closed } = openConnection(gateway);
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
    async (_, bytes, rest) => {
      const gateway = await openTranscoder({ deadlineMs: NEVER_MS });
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      onTestFinished(() => void vi.useRealTimers());
      const { socket, closed } = openConnection(gateway);
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
    const gateway = await openTranscoder({ ...options, deadlineMs: 100 });
    const { socket, received } = openConnection(gateway);
    socket.write(head(1_000, AS_MEMBER));
    const writing = setInterval(() => socket.write(' '), 20);
    await expect.poll(() => reasonIn(received())).toBe('DEADLINE_EXCEEDED');
    clearInterval(writing);
    expect(received()).toMatch(/^HTTP\/1\.1 504 [^]*Connection: close\r\n/);
  });

  it('ends after the Request-Timeout of its client', async () => {
    const gateway = await openTranscoder({ deadlineMs: NEVER_MS });
    const { socket, received } = openConnection(gateway);
    socket.write(head(9, AS_MEMBER, 'Request-Timeout: 0.05'));
    await expect.poll(() => reasonIn(received())).toBe('DEADLINE_EXCEEDED');
  });

  it('causes only one guard check if it arrives late and is invalid', async () => {
    const { guarded, calls, ...server } = counted();
    const gateway = await openTranscoder(server);
    const { socket, received } = openConnection(gateway);
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
    const gateway = await openTranscoder({ deadlineMs: NEVER_MS });
    const { socket, received } = openConnection(gateway);
    socket.write(request);
    await expect.poll(received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*Connection: close\r\n`));
  });
});

describe('a client that expects 100 Continue', () => {
  const EXPECT = 'Expect: 100-continue';

  it('gets it once the guard has admitted the client', async () => {
    const gateway = await openTranscoder();
    const { socket, received } = openConnection(gateway);
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
    const gateway = await openTranscoder({ deadlineMs: NEVER_MS });
    const { socket, received } = openConnection(gateway);
    socket.write(request);
    await expect.poll(received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  it.each([
    { what: 'a valid body', body: BODY, status: 201 },
    { what: 'an invalid body', body: BODY.replace('}', ' '), status: 400 },
  ])('gets it between an earlier response and its own: $what', async ({ body, status }) => {
    const { guarded, upstream, guard } = counted();
    let answerFirst = (): void => undefined;
    const waits = [new Promise<void>((resolve) => (answerFirst = resolve))];
    const holding: Upstream = {
      async unary(call) {
        const held = waits.shift();
        const reply = await upstream.unary(call);
        await held;
        return reply;
      },
    };
    let answered = 0;
    const observers = [{ begin: () => ({ end: () => void (answered += 1) }) }];
    const gateway = await openTranscoder({ upstream: holding, guard, deadlineMs: NEVER_MS, observers });
    const { socket, received } = openConnection(gateway);
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
    const gateway = await openTranscoder({ guard, deadlineMs: 50 });
    const { socket, received, closed } = openConnection(gateway);
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
    const gateway = await openTranscoder({ ...server, deadlineMs: NEVER_MS });
    const stalled = openConnection(gateway);
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
    const gateway = await openTranscoder({ maxRequests: 2 });
    const hanging = [openConnection(gateway), openConnection(gateway)];
    for (const { socket } of hanging) socket.write(getRequest('/v1/hang'));
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
    const client = openConnection(gateway);
    client.socket.write(head(BODY.length, `Authorization: Bearer ${caller}`));
    return client;
  };

  it.each([
    { maxRequests: 5, most: 2, why: 'It has 2 requests that are still arriving.' },
    { maxRequests: 1, most: 1, why: 'It has 1 calls under way.' },
  ])(
    'take at most $most of $maxRequests places while they arrive, so that complete ones find a place',
    async ({ maxRequests, most, why }) => {
      const { guarded, calls, ...server } = counted(true);
      const gateway = await openTranscoder({ ...server, maxRequests, deadlineMs: NEVER_MS });
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
    const { guarded, guard, upstream } = counted(true);
    const gateway = await openTranscoder({ guard, upstream, maxRequests: 16, deadlineMs: NEVER_MS });
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
    const { guarded, guard, upstream } = counted(true);
    const asking: Guard = (call) =>
      call.metadata.get('authorization') === 'Bearer 0' ? new Promise(() => undefined) : guard(call);
    const gateway = await openTranscoder({ upstream, guard: asking, maxRequests: 8, deadlineMs: NEVER_MS });
    for (let i = 0; i < 6; i++) arrive(gateway, 0);
    const admitted = arrive(gateway, 1);
    await expect.poll(guarded).toBe(1);
    admitted.socket.write(BODY);
    await expect.poll(admitted.received).toMatch(/^HTTP\/1\.1 201 /);
  });
});

it('a body is refused if its client disconnects before it is read', async () => {
  const server = createServer();
  const client = connect(Number(new URL(await listening(server)).port), '127.0.0.1');
  client.write('POST / HTTP/1.1\r\nHost: library\r\nContent-Length: 9\r\n\r\n{"thin');
  const [request] = (await once(server, 'request')) as [IncomingMessage];
  const gone = new Promise((resolve) => request.on('error', () => undefined).on('close', resolve));
  client.destroy();
  await gone;
  await expect(new ArrivingBody(request, 1_024).whole).rejects.toMatchObject({ reason: 'REQUEST_MALFORMED' });
});
