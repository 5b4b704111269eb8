import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Gateway } from '../../src/gateway/gateway.js';
import { FollowedTls } from '../../src/files/followed-tls.js';
import { type HttpLimits, HttpServer } from '../../src/gateway/http-server.js';
import { createAuthority } from '../support/certificates.js';
import { MountedFiles } from '../support/mounted-files.js';
import { clientHello, secureGet, shakeHands, stall } from '../support/tls-client.js';

const LIMITS: HttpLimits = { maxConnections: 1_000, deadlineMs: 60_000, httpIdleMs: 60_000 };
const authority = createAuthority();
const pair = authority.issue();
const HELLO = await clientHello(['http/1.1']);

const ignore = (): void => undefined;
const callers = new WeakSet<Duplex>();
const gateway: Omit<Gateway, 'replyCache'> = {
  onRequest: ({ url, socket }, response) => {
    callers[url === '/for-callers' ? 'add' : 'delete'](socket);
    response.end('answered');
  },
  onCheckContinue: ignore,
  onClientError: (_, socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
  onConnect: ignore,
  drain: ignore,
  onClose: ignore,
  isAuthenticated: (socket) => callers.has(socket),
};

async function start(limits: Partial<HttpLimits> = {}): Promise<{ server: HttpServer; port: number }> {
  const files = new MountedFiles({ ...pair });
  const paths = { certFile: files.path('cert'), keyFile: files.path('key'), caFile: undefined };
  const tls = new FollowedTls(paths, { info: ignore, warn: ignore });
  const server = new HttpServer(gateway, { ...LIMITS, ...limits }, tls);
  onTestFinished(async () => {
    tls.close();
    await server.close(1);
  });
  return { server, port: await server.listen('127.0.0.1', 0) };
}

describe('the HTTP server with TLS', () => {
  it.each([
    ['before the handshake', Buffer.alloc(0)],
    ['within the ClientHello', HELLO.subarray(0, 20)],
    ['after the ClientHello', HELLO],
  ])('ends a connection that stalls %s after the time limit', async (_, bytes) => {
    const { port } = await start({ headMs: 100 });
    const { closed } = await stall(1, port, bytes);
    await closed;
  });

  it('ends a connection whose client sends nothing after the handshake', async () => {
    // The same limit holds for the handshake, which takes a while on a busy machine.
    const { port } = await start({ headMs: 3_000 });
    const socket = await shakeHands(`127.0.0.1:${port}`, { ca: authority.cert });
    await once(socket.resume(), 'close');
  });

  it('ends an incomplete handshake for a connection beyond the limit', async () => {
    const { port } = await start({ maxConnections: 1 });
    const { closed } = await stall(1, port, HELLO);
    await shakeHands(`127.0.0.1:${port}`, { ca: authority.cert });
    await closed;
  });

  it('refuses a connection beyond the limit if the clients of all others have shown a valid token', async () => {
    const { port } = await start({ maxConnections: 1 });
    const socket = await shakeHands(`127.0.0.1:${port}`, { ca: authority.cert });
    const received = async (path: string): Promise<string> => {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
      return String(await once(socket, 'data'));
    };
    expect(await received('/for-callers')).toContain('answered');
    await expect(shakeHands(`127.0.0.1:${port}`, { ca: authority.cert })).rejects.toThrow();
    expect(await received('/')).toContain('answered');
  });

  it('answers 400 to non-HTTP data over TLS, and closes connections without TLS', async () => {
    const { port } = await start();
    const socket = await shakeHands(`127.0.0.1:${port}`, { ca: authority.cert });
    socket.write('garbage\r\n\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toContain('400');
    const { closed } = await stall(1, port, Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'));
    await closed;
    const reply = await secureGet(`https://127.0.0.1:${port}/`, { ca: authority.cert });
    expect(reply.body).toBe('answered');
  });

  it('closes without waiting for a connection that has sent nothing after its handshake', async () => {
    const { server, port } = await start();
    const socket = await shakeHands(`127.0.0.1:${port}`, { ca: authority.cert });
    await server.close(600_000);
    await once(socket.resume(), 'close');
  });

  it('closes without waiting for handshakes that are not complete', async () => {
    const { server, port } = await start({ headMs: 600_000 });
    await stall(50, port, HELLO);
    await server.close(600_000);
  });
});
