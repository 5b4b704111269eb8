import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectPlain } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAuthority } from '../support/certificates.js';
import {
  type TestServer,
  type TestServerOptions,
  ECHO,
  startTestServer,
  SLOW,
} from '../support/test-grpc-server.js';
import { frameMessage, outcomeOf, requestOn } from '../support/http2-call.js';
import { clientHello, negotiateAnew, shakeHands, stall } from '../support/tls-client.js';

/** Longer than any test takes, in milliseconds. */
const NEVER_MS = 60_000;
const authority = createAuthority();
const pair = authority.issue();
const HELLO = await clientHello(['h2']);
const STALLED = [
  ['before the handshake', Buffer.alloc(0)],
  ['within the ClientHello', HELLO.subarray(0, 20)],
  ['after the ClientHello', HELLO],
] as const;

function openSecured(options: Omit<TestServerOptions, 'tls'> = {}): Promise<TestServer> {
  return startTestServer({ ...options, tls: { latest: pair, onRenewed: () => undefined } });
}

function portOf(address: string): number {
  return Number(address.split(':')[1]);
}

describe('the gRPC server with TLS', () => {
  it.each(STALLED)('ends a connection that stalls %s after the time limit', async (_, bytes) => {
    const server = await openSecured({ times: { patienceMs: 100 } });
    const { closed } = await stall(1, portOf(server.address), bytes);
    await closed;
  });

  it('ends a connection whose client sends nothing after the handshake', async () => {
    const server = await openSecured({ times: { patienceMs: 300 } });
    const socket = await shakeHands(server.address, { ca: authority.cert, ALPNProtocols: ['h2'] });
    await once(socket.resume(), 'close');
  });

  it('counts an incomplete handshake as a connection', async () => {
    const server = await openSecured({ limits: { maxConnections: 1 } });
    await stall(1, portOf(server.address), HELLO);
    const second = shakeHands(server.address, { ca: authority.cert, ALPNProtocols: ['h2'] });
    await expect(second).rejects.toThrow();
  });

  it('announces to each connection its share of streams', async () => {
    const server = await openSecured({ limits: { maxStreams: 7 } });
    const session = connectHttp2(`https://${server.address}`, { ca: authority.cert });
    onTestFinished(() => {
      session.destroy();
    });
    await once(session, 'remoteSettings');
    expect(session.remoteSettings.maxConcurrentStreams).toBe(7);
    expect(await outcomeOf(requestOn(session, ECHO).end(frameMessage(Buffer.from('a'))))).toMatchObject({
      code: 0,
    });
  });

  it('closes at once if all connections are still in the handshake', async () => {
    const server = await openSecured();
    await stall(50, portOf(server.address), HELLO);
    await server.close(NEVER_MS);
  });

  it('announces its end even to a client whose handshake completes during the close', async () => {
    const server = await openSecured();
    const busy = connectHttp2(`https://${server.address}`, { ca: authority.cert });
    const call = outcomeOf(requestOn(busy, SLOW).end(frameMessage(Buffer.from('a'))));
    await server.waitingCalls(1);
    const socket = connectPlain(portOf(server.address), '127.0.0.1');
    await once(socket, 'connect');
    const goaway = once(busy, 'goaway');
    const closed = server.close(NEVER_MS);
    await goaway;
    const createConnection = (): TLSSocket =>
      connectTls({ socket, ca: authority.cert, host: '127.0.0.1', ALPNProtocols: ['h2'] });
    const late = connectHttp2(`https://${server.address}`, { createConnection });
    await once(late, 'goaway');
    server.completeCalls();
    expect(await call).toMatchObject({ code: 0 });
    await closed;
  });

  it('closes whenever a connection ends that tried to renegotiate', async () => {
    const closed: Promise<void>[] = [];
    for (let turns = 0; turns < 40; turns += 2) {
      // Node 26 closes some of these connections only when the server destroys them.
      const server = await openSecured({ times: { patienceMs: 1_000 } });
      const options = { ca: authority.cert, ALPNProtocols: ['h2'], maxVersion: 'TLSv1.2' } as const;
      const socket = await shakeHands(server.address, options);
      void negotiateAnew(socket);
      for (let turn = 0; turn < turns; turn++) await setImmediate();
      closed.push(server.close(NEVER_MS));
      socket.destroy();
    }
    await Promise.all(closed);
  });

  it('attributes each completed handshake to the right connection', async () => {
    const server = await openSecured({ times: { patienceMs: 500 } });
    const socket = connectPlain(portOf(server.address), '127.0.0.1');
    await once(socket, 'connect');
    const { closed } = await stall(1, portOf(server.address), HELLO);
    const createConnection = (): TLSSocket =>
      connectTls({ socket, ca: authority.cert, host: '127.0.0.1', ALPNProtocols: ['h2'] });
    const session = connectHttp2(`https://${server.address}`, { createConnection });
    await closed;
    // A connection whose time limit began later has ended too.
    const silent = await shakeHands(server.address, { ca: authority.cert, ALPNProtocols: ['h2'] });
    await once(silent.resume(), 'close');
    expect(await outcomeOf(requestOn(session, ECHO).end(frameMessage(Buffer.from('a'))))).toMatchObject({
      code: 0,
    });
  });
});
