import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { createGateway, type Gateway } from '../../src/gateway/gateway.js';
import { descriptorSet } from '../../src/gen/descriptor-set.js';
import { type HttpLimits, HttpServer } from '../../src/gateway/http-server.js';

/** Longer than any test takes, in milliseconds. */
const NEVER_MS = 60_000;

const LIMITS: HttpLimits = { maxConnections: 100, deadlineMs: NEVER_MS, httpIdleMs: NEVER_MS };

/** Longer than what sockets buffer. */
const TOO_LONG = 'x'.repeat(50_000_000);

/** A connection to a server, and everything received on it. */
interface Client {
  readonly socket: Socket;
  readonly received: () => string;
  readonly closed: Promise<unknown>;
}

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const ignore = (): void => undefined;

type Listeners = Omit<Gateway, 'replyCache'>;

function answering(respond: RequestListener): Listeners {
  const callers = new WeakSet<Duplex>();
  const onRequest: RequestListener = (request, response) => {
    callers[request.url === '/for-callers' ? 'add' : 'delete'](request.socket);
    respond(request, response);
  };
  return {
    onRequest,
    onCheckContinue: onRequest,
    onClientError: (_, socket) => socket.destroy(),
    onConnect: ignore,
    drain: ignore,
    onClose: ignore,
    isAuthenticated: (socket) => callers.has(socket),
  };
}

async function startServer(
  gateway: Listeners,
  limits: Partial<HttpLimits> = {},
): Promise<{ server: HttpServer; open: () => Promise<Client> }> {
  const server = new HttpServer(gateway, { ...LIMITS, ...limits });
  const port = await server.listen('127.0.0.1', 0);
  ends.push(() => server.close(1));
  return { server, open: () => open(port) };
}

async function open(port: number): Promise<Client> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.on('data', (data: Buffer) => (received += data.toString()));
  socket.on('error', ignore);
  ends.push(() => void socket.destroy());
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, 'connect');
  return { socket, received: () => received, closed };
}

/** Starts a server and connects to it. */
async function start(
  onRequest: RequestListener,
  limits: Partial<HttpLimits> = {},
): Promise<Client & { server: HttpServer }> {
  const { server, open: connectTo } = await startServer(answering(onRequest), limits);
  return { server, ...(await connectTo()) };
}

/** A listener that answers each request with its path, once the test tells it to. */
function holdAnswers(): { onRequest: RequestListener; arrived: () => string[]; answer: () => void } {
  const waiting: { readonly path: string; readonly answer: () => void }[] = [];
  return {
    onRequest: ({ url = '' }, response) => {
      waiting.push({ path: url, answer: () => response.end(url) });
    },
    arrived: () => waiting.map(({ path }) => path),
    answer: () => {
      for (const { answer } of waiting) answer();
    },
  };
}

const get = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;

describe('an HTTP server', () => {
  it('ignores an unknown expectation', async () => {
    const { socket, received } = await start((_, response) => response.end('answered'));
    socket.write(get('/', 'Expect: tea\r\n'));
    await expect.poll(received).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*answered/);
  });

  it('announces its keep-alive timeout, and closes an idle connection after it', async () => {
    const { socket, received, closed } = await start((_, response) => response.end(), { httpIdleMs: 1_000 });
    socket.write(get('/'));
    await expect.poll(received).toMatch(/\r\nConnection: keep-alive\r\nKeep-Alive: timeout=1\r\n/);
    const answeredAt = performance.now();
    await closed;
    expect(performance.now() - answeredAt).toBeGreaterThan(950);
  });

  it.each([
    { what: 'nothing more', bytes: '' },
    { what: 'a byte now and then', bytes: 'x' },
  ])('closes a connection that sends an incomplete head and then $what', async ({ bytes }) => {
    const { socket, closed } = await start(ignore, { headMs: 200 });
    socket.write('GET /');
    const writing = setInterval(() => socket.write(bytes), 20);
    await closed;
    clearInterval(writing);
  });

  it('closes a connection whose client does not read its response', async () => {
    let gone = false;
    const onRequest: RequestListener = (_, response) => {
      response.once('close', () => (gone = true)).end('x'.repeat(50_000_000));
    };
    const { socket } = await start(onRequest, { headMs: 100, deadlineMs: 100, lastResortMs: 100 });
    socket.pause();
    socket.write(get('/'));
    await expect.poll(() => gone).toBe(true);
  });

  it('stops reading requests from a client that reads no responses', async () => {
    let asked = 0;
    const { socket } = await start((_, response) => {
      asked += 1;
      response.end('x'.repeat(1_000));
    });
    socket.pause();
    const many = 500_000;
    socket.write(get('/').repeat(many));
    let before = -1;
    const stopped = (): boolean => {
      const same = asked === before;
      before = asked;
      return same;
    };
    await expect.poll(stopped, { timeout: 20_000, interval: 200 }).toBe(true);
    expect(asked).toBeLessThan(many / 4);
  });

  it('treats a client that half-closes its connection before the response as gone', async () => {
    const { onRequest, arrived } = holdAnswers();
    const { socket, received, closed } = await start(onRequest);
    socket.end(get('/'));
    await expect.poll(arrived).toEqual(['/']);
    await closed;
    expect(received()).toBe('');
  });

  it('reads every header of a head that is small enough', async () => {
    const { socket, received } = await start(({ headers }, response) => response.end(headers['last']));
    socket.write(get('/', `${'a:\r\n'.repeat(3_000)}Last: seen\r\n`));
    await expect.poll(received).toContain('seen');
  });

  it('refuses a head beyond 16 KiB', async () => {
    let asked = 0;
    const { socket, closed } = await start(() => (asked += 1));
    socket.write(get('/', `A: ${'a'.repeat(16_384)}\r\n`));
    await closed;
    expect(asked).toBe(0);
  });
});

describe('a connection beyond the limit', () => {
  /** Requests a path, and waits for the response. */
  async function expectAnswer({ socket, received }: Client, path: string): Promise<void> {
    socket.write(get(path));
    await expect.poll(received).toContain(`answered ${path}`);
  }
  const onRequest: RequestListener = ({ url = '' }, response) => response.end(`answered ${url}`);

  it('takes the place of the one that has been idle for longest', async () => {
    const { open: connectTo } = await startServer(answering(onRequest), { maxConnections: 3 });
    const [first, second, third] = [await connectTo(), await connectTo(), await connectTo()];
    for (const client of [second, first, third]) await expectAnswer(client, '/1');
    await expectAnswer(second, '/2');
    await expectAnswer(await connectTo(), '/3');
    await first.closed;
    for (const client of [second, third]) await expectAnswer(client, '/4');
  });

  it.each([
    ['nothing', ''],
    ['part of a head', 'GET / HT'],
  ])('takes the place of one that has sent %s', async (_, bytes) => {
    const { open: connectTo } = await startServer(answering(onRequest), { maxConnections: 1 });
    const silent = await connectTo();
    silent.socket.write(bytes);
    await expectAnswer(await connectTo(), '/');
    await silent.closed;
  });

  it.each([
    ['a response', (response: ServerResponse) => response.end(TOO_LONG)],
    ['the beginning of a response', (response: ServerResponse) => response.write(TOO_LONG)],
  ])('takes the place of one that does not read %s', async (_, respond) => {
    let asked = false;
    const listener: RequestListener = (request, response) => {
      asked ||= request.url === '/unread';
      if (request.url === '/unread') respond(response);
      else onRequest(request, response);
    };
    const { open: connectTo } = await startServer(answering(listener), { maxConnections: 1 });
    const { socket, closed } = await connectTo();
    socket.pause().write(get('/unread'));
    await expect.poll(() => asked).toBe(true);
    await expectAnswer(await connectTo(), '/');
    socket.resume();
    await closed;
  });

  it('is refused while the client of another reads a response for callers', async () => {
    let asked = false;
    const listener: RequestListener = (_request, response) => {
      asked = true;
      response.write('x');
    };
    const { open: connectTo } = await startServer(answering(listener), { maxConnections: 1 });
    (await connectTo()).socket.write(get('/for-callers'));
    await expect.poll(() => asked).toBe(true);
    const refused = await connectTo();
    await refused.closed;
  });

  it('is accepted for one of many that come at once', async () => {
    const { open: connectTo } = await startServer(answering(onRequest), { maxConnections: 1 });
    const clients = await Promise.all(Array.from({ length: 100 }, connectTo));
    for (const { socket } of clients) socket.write(get('/many'));
    await expect.poll(() => clients.map(({ received }) => received()).join()).toContain('answered /many');
    await expectAnswer(await connectTo(), '/');
  });

  it('is refused if all others have a request in progress, and accepted afterwards', async () => {
    const waiting = holdAnswers();
    const { open: connectTo } = await startServer(answering(waiting.onRequest), { maxConnections: 1 });
    const first = await connectTo();
    first.socket.write(get('/1') + get('/2'));
    await expect.poll(waiting.arrived).toEqual(['/1', '/2']);
    const refused = await connectTo();
    await refused.closed;
    waiting.answer();
    await expect.poll(first.received).toMatch(/\/1[^]*\/2/);
    const second = await connectTo();
    await first.closed;
    second.socket.write(get('/3'));
    await expect.poll(waiting.arrived).toContain('/3');
  });

  it('is refused if the clients of all others have had responses for callers', async () => {
    const { open: connectTo } = await startServer(answering(onRequest), { maxConnections: 1 });
    const first = await connectTo();
    await expectAnswer(first, '/for-callers');
    await expectAnswer(first, '/for-anybody');
    const refused = await connectTo();
    await refused.closed;
    await expectAnswer(first, '/again');
    first.socket.destroy();
    await expect
      .poll(async () => {
        const next = await connectTo();
        next.socket.write(get('/next'));
        await Promise.race([next.closed, once(next.socket, 'data')]);
        return next.received();
      })
      .toContain('answered /next');
  });
});

describe('an HTTP server that closes', () => {
  it('answers the requests in progress, the last on each connection with Connection: close', async () => {
    const { onRequest, arrived, answer } = holdAnswers();
    const { server, socket, received } = await start(onRequest);
    socket.write(get('/before'));
    await expect.poll(arrived).toEqual(['/before']);
    const closed = Promise.all([server.close(NEVER_MS), once(socket, 'close')]);
    socket.write(get('/after'));
    await expect.poll(arrived).toEqual(['/before', '/after']);
    answer();
    await closed;
    expect(received().match(/Connection: .*|\/before|\/after/g)).toEqual([
      'Connection: keep-alive',
      '/before',
      'Connection: close',
      '/after',
    ]);
  });

  it('is closed once its last connection is idle', async () => {
    const { onRequest, arrived, answer } = holdAnswers();
    const { server, socket, received } = await start(onRequest);
    socket.write(get('/'));
    await expect.poll(arrived).toEqual(['/']);
    const closed = Promise.all([server.close(NEVER_MS), once(socket, 'close')]);
    answer();
    await closed;
    expect(received()).toContain('Connection: keep-alive');
  });

  it('answers a request that has arrived on an idle connection', async () => {
    const { server, socket, received } = await start((_, response) => response.end('answered'));
    socket.write(get('/'));
    await expect.poll(received).toContain('answered');
    socket.write(get('/'));
    await server.close(NEVER_MS);
    await expect.poll(received).toMatch(/keep-alive\r\n[^]*answered[^]*Connection: close\r\n[^]*answered/);
  });

  it.each([
    { what: 'a request that is still in progress', bytes: get('/') },
    { what: 'part of a head', bytes: 'GET / HT' },
    { what: 'part of a body', bytes: `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{` },
  ])('cuts a connection that has sent $what after the grace period', async ({ bytes }) => {
    const { server, socket, closed } = await start(ignore);
    socket.write(bytes);
    await server.close(1);
    await closed;
  });

  it('closes a connection that has sent nothing at once', async () => {
    const { server, closed } = await start(ignore);
    await server.close(NEVER_MS);
    await closed;
  });

  it('answers 503 to a request whose body is still arriving after the grace period', async () => {
    const { server, open: connectTo } = await startServer(realGateway());
    const { socket, received } = await connectTo();
    socket.write('POST /v1/routing HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{');
    await server.close(1);
    await expect.poll(received).toMatch(/^HTTP\/1\.1 503 [^]*Connection: close\r\n[^]*"SHUTTING_DOWN"/);
  });

  it('waits for a body that is still arriving', async () => {
    const { server, open: connectTo } = await startServer(realGateway());
    const { socket, received } = await connectTo();
    socket.write('POST /v1/routing HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n');
    const closed = server.close(NEVER_MS);
    // Lets the server stop accepting connections.
    for (let turns = 0; turns < 3; turns++) await setImmediate();
    socket.write('{}');
    await closed;
    await expect.poll(received).toMatch(/^HTTP\/1\.1 415 [^]*Connection: close\r\n/);
  });
});

/** A gateway whose upstream admits every call. */
function realGateway(): Gateway {
  return createGateway({
    descriptorSet,
    upstream: { unary: () => ({ code: status.OK, details: '', answered: true }) },
    basePath: '',
    deadlineMs: NEVER_MS,
    maxBodyBytes: 65_536,
    maxRequests: 10,
    realm: 'x',
    corsOrigins: [],
    pages: [],
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
  });
}
