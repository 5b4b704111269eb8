import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { httpRequest, rawExchange } from '../../packages/transcoder/test/support/http-request.js';
import { type OpsPages, shareRendering, startOpsServer } from '../../src/observability/ops-server.js';
import { Readiness } from '../../src/observability/readiness.js';

async function start(change: Partial<OpsPages> = {}, patienceMs?: number): Promise<string> {
  const readiness = new Readiness([]);
  readiness.run();
  const metrics = { text: () => Promise.resolve('a 1\n'), contentType: 'text/plain; version=0.0.4' };
  const pages = { readiness: () => readiness.report, metrics, ...change };
  const server = await startOpsServer('127.0.0.1', 0, pages, patienceMs);
  onTestFinished(() => server.close());
  return `http://127.0.0.1:${server.port}`;
}

/** Connects and writes the given bytes. */
async function begin(origin: string, bytes: string): Promise<Socket> {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1').on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  socket.write(bytes);
  return socket;
}

describe('the listener for operators', () => {
  it.each([
    { path: '/livez', status: 200, text: '{"status":"alive"}\n' },
    {
      path: '/readyz',
      status: 200,
      text: '{"status":"ready","checks":{"process":{"ok":true,"state":"running"}}}\n',
    },
    { path: '/metrics', status: 200, text: 'a 1\n' },
    { path: '/', status: 404, text: '{"error":"There are /metrics, /livez and /readyz."}\n' },
    { path: '/metrics/', status: 404, text: '{"error":"There are /metrics, /livez and /readyz."}\n' },
  ])('responds to GET $path with $status', async ({ path, status, text }) => {
    const response = await httpRequest(await start(), { path });
    expect(response).toMatchObject({ status, text, headers: { 'cache-control': 'no-store' } });
  });

  it.each(['/livez', '/readyz', '/metrics'])(
    'responds to HEAD %s as to GET, without a body',
    async (path) => {
      const origin = await start();
      const { headers } = await httpRequest(origin, { path });
      const head = await httpRequest(origin, { path, method: 'HEAD' });
      expect(head).toMatchObject({
        status: 200,
        text: '',
        headers: { 'content-length': headers['content-length'] },
      });
    },
  );

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE'])('refuses %s with 405', async (method) => {
    const response = await httpRequest(await start(), { path: '/livez', method });
    expect(response).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  });

  it('reports a process that is not ready with 503', async () => {
    const readiness = new Readiness(['database']);
    readiness.run();
    const { status, text } = await httpRequest(await start({ readiness: () => readiness.report }), {
      path: '/readyz',
    });
    expect({ status, text: JSON.parse(text) as unknown }).toEqual({ status: 503, text: readiness.report });
  });

  it('returns 500 when the metrics cannot be read, and keeps serving', async () => {
    const metrics = { text: () => Promise.reject(new Error('secret')), contentType: 'text/plain' };
    const origin = await start({ metrics });
    const failed = await httpRequest(origin, { path: '/metrics' });
    expect(failed).toMatchObject({ status: 500, text: '{"error":"The metrics cannot be read."}\n' });
    await expect(httpRequest(origin, { path: '/livez' })).resolves.toMatchObject({ status: 200 });
  });

  it('reads the metrics once for concurrent scrapes', async () => {
    let read = 0;
    let finish: (text: string) => void = () => undefined;
    const text = (): Promise<string> => {
      read++;
      return new Promise((resolve) => (finish = resolve));
    };
    const origin = await start({ metrics: { text, contentType: 'text/plain' } });
    const scrapes = [1, 2, 3].map(() => httpRequest(origin, { path: '/metrics' }));
    await expect.poll(() => read).toBe(1);
    // Sent after the scrapes, so that its response shows that they have arrived.
    await httpRequest(origin, { path: '/livez' });
    finish('b 2\n');
    expect((await Promise.all(scrapes)).map((response) => response.text)).toEqual([
      'b 2\n',
      'b 2\n',
      'b 2\n',
    ]);
    expect(read).toBe(1);
  });
});

it('a rendering is made anew for each request, but once a second while requests are concurrent', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  let rendered = 0;
  const page = shareRendering(() => Promise.resolve(++rendered));
  expect([await page(), await page()]).toEqual([1, 2]);
  const first = page();
  // Between two sockets that are read in the same turn, promises are settled.
  await new Promise((resolve) => {
    process.nextTick(resolve);
  });
  expect([await page(), await first]).toEqual([3, 3]);
  expect(await page()).toBe(3);
  vi.advanceTimersByTime(1_000);
  expect([await page(), await page()]).toEqual([4, 5]);
});

describe('a bad client of the listener for operators', () => {
  it('gets 431 for headers of more than 8 KiB', async () => {
    const head = `GET /livez HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(9_000)}\r\n\r\n`;
    expect(await rawExchange(await start(), head)).toMatch(/^HTTP\/1\.1 431 /);
  });

  it('is disconnected when its headers do not arrive in time', async () => {
    const socket = await begin(await start({}, 50), 'GET /livez HTTP/1.1\r\n');
    await once(socket.resume(), 'close');
  });

  it('is disconnected when it sends no further request', async () => {
    const socket = await begin(await start({}, 500), 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'data');
    await once(socket.resume(), 'close');
  });

  it('is disconnected after a request with a body', async () => {
    const bytes = 'GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n';
    expect(await rawExchange(await start(), bytes)).toMatch(/^HTTP\/1\.1 200 .*\r\nConnection: close\r\n/s);
  });

  it('is refused while 64 others are connected', async () => {
    const alive = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';
    const origin = await start();
    for (let i = 0; i < 64; i++) await once(await begin(origin, alive), 'data');
    await once((await begin(origin, alive)).resume(), 'close');
  });
});
