import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { closeHttpServer, startHttpServer } from '../../src/process/http-server.js';

/** Longer than a test may take, in milliseconds. */
const NEVER_MS = 60_000;

/** A server, and a connection to it with everything that it has received. */
async function start(
  onRequest: RequestListener,
): Promise<{ server: Server; socket: Socket; received: () => string }> {
  const gateway = { onRequest, onClientError: () => undefined, onConnect: () => undefined };
  const { server, port } = await startHttpServer(gateway, '127.0.0.1', 0);
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.on('data', (data: Buffer) => (received += data.toString()));
  onTestFinished(() => {
    socket.destroy();
    server.close().closeAllConnections();
  });
  await once(socket, 'connect');
  return { server, socket, received: () => received };
}

/** Answers each request with its path when told to. */
function held(): { onRequest: RequestListener; arrived: () => string[]; answer: () => void } {
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
  it('ignores an expectation that it does not know', async () => {
    const { socket, received } = await start((_, response) => response.end('answered'));
    socket.write(get('/', 'Expect: tea\r\n'));
    await expect.poll(received).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*answered/);
  });

  it('closes when the requests in progress are answered, the last on each connection with Connection: close', async () => {
    const { onRequest, arrived, answer } = held();
    const { server, socket, received } = await start(onRequest);
    socket.write(get('/before'));
    await expect.poll(arrived).toEqual(['/before']);
    const closed = Promise.all([closeHttpServer(server, NEVER_MS), once(socket, 'close')]);
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

  it('closes when its last connection has become idle', async () => {
    const { onRequest, arrived, answer } = held();
    const { server, socket, received } = await start(onRequest);
    server.keepAliveTimeout = NEVER_MS;
    socket.write(get('/'));
    await expect.poll(arrived).toEqual(['/']);
    const closed = Promise.all([closeHttpServer(server, NEVER_MS), once(socket, 'close')]);
    answer();
    await closed;
    expect(received()).toContain('Connection: keep-alive');
  });

  it('ends the requests still in progress after its grace', async () => {
    const { onRequest, arrived } = held();
    const { server, socket } = await start(onRequest);
    socket.write(get('/'));
    await expect.poll(arrived).toEqual(['/']);
    const ended = once(socket, 'close');
    await closeHttpServer(server, 1);
    await ended;
  });
});
