import { once } from 'node:events';
import { request } from 'node:https';
import { connect as plainConnect } from 'node:net';
import { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { connect, type ConnectionOptions, TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';

/** Opens a TLS connection. It is destroyed when the test ends. @throws Error of the handshake */
export async function shakeHands(address: string, options: ConnectionOptions): Promise<TLSSocket> {
  const { hostname, port } = new URL(address.includes('://') ? address : `https://${address}`);
  const socket = connect({ host: hostname, port: Number(port), ...options });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

/** The response to a request on a separate connection. */
interface SecureReply {
  readonly status: number | undefined;
  readonly body: string;
  /** The serial number of the server's certificate. */
  readonly serialNumber: string;
}

/** Gets a URL over a new connection. @throws Error of the handshake or the connection */
export function secureGet(
  url: string,
  options: ConnectionOptions & { readonly headers?: Readonly<Record<string, string>> },
): Promise<SecureReply> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent: false, ...options }).end();
    asked.on('error', reject).on('response', (response) => {
      const { socket, statusCode: status } = response;
      if (!(socket instanceof TLSSocket)) throw new Error('The answer came without TLS.');
      const { serialNumber } = socket.getPeerCertificate();
      text(response).then((body) => {
        resolve({ status, body, serialNumber });
      }, reject);
    });
  });
}

/** Requests a renegotiation. Resolves when the connection has ended because of it. */
export function negotiateAnew(socket: TLSSocket): Promise<unknown> {
  const ended = new Promise((resolve) => socket.once('error', resolve).once('close', resolve));
  socket.resume().renegotiate({}, () => undefined);
  return ended;
}

/** The first message of a TLS handshake, complete. */
export function clientHello(ALPNProtocols: string[]): Promise<Buffer> {
  return new Promise((resolve) => {
    const wire = new Duplex({
      read: () => undefined,
      write(chunk: Buffer, _encoding, done) {
        resolve(chunk);
        done();
      },
    });
    connect({ socket: wire, ALPNProtocols });
  });
}

/** Opens TCP connections that each send these bytes and then nothing more. They are destroyed when the test ends. */
export async function stall(
  connections: number,
  port: number,
  bytes: Uint8Array,
): Promise<{ readonly closed: Promise<unknown> }> {
  const sockets = Array.from({ length: connections }, () => {
    const socket = plainConnect(port, '127.0.0.1').on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    return socket.resume();
  });
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  for (const socket of sockets) socket.write(bytes);
  return { closed: Promise.all(sockets.map((socket) => new Promise((done) => socket.once('close', done)))) };
}
