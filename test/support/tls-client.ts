import { once } from 'node:events';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';

/** Connects, and ends the connection with the test. @throws Error of the handshake */
export async function shakeHands(address: string, options: ConnectionOptions): Promise<TLSSocket> {
  const { hostname, port } = new URL(address.includes('://') ? address : `https://${address}`);
  const socket = connect({ host: hostname, port: Number(port), ...options });
  onTestFinished(() => {
    socket.destroy();
  });
  await once(socket, 'secureConnect');
  return socket;
}

/** The end of a request on a connection of its own. */
export interface SecureReply {
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
      const { serialNumber } = (response.socket as TLSSocket).getPeerCertificate();
      const { statusCode: status } = response;
      text(response).then((body) => {
        resolve({ status, body, serialNumber });
      }, reject);
    });
  });
}
