import type { Socket } from 'node:net';
import { createServer as createSecureServer, type TlsOptions, type TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';
import { eachPacket, HEADER_BYTES, SEQUENCE_AT } from './mysql-packets.js';
import { startTcpFront } from './tcp-front.js';

/** The capability CLIENT_SSL, in the second byte of the flags. */
const SSL_BIT = 0x08;
const SSL_REQUEST_BYTES = HEADER_BYTES + 32;
/** The first bytes of the packets that end a login. */
const OK = 0x00;
const ERROR = 0xff;

/** A MySQL server with TLS that a test configures, independent of the real server behind it. */
export interface MysqlTlsFront {
  readonly port: number;
  /** The number of logins so far, with or without TLS. */
  readonly logins: () => number;
}

/**
 * Starts a front on loopback. It is closed when the test ends. TLS starts as MySQL's protocol specifies ("Protocol: SSL
 * Handshake" in MySQL's source); the real server sees a login without TLS.
 *
 * @param tls the options of the front's TLS; `undefined` for a server without TLS
 */
export async function startMysqlTlsFront(targetPort: number, tls?: TlsOptions): Promise<MysqlTlsFront> {
  let logins = 0;
  const front = await startTcpFront(targetPort, (client, server) => {
    server.once('data', (greeting: Buffer) => {
      const flagsAt = greeting.indexOf(0, HEADER_BYTES + 1) + 1 + 4 + 8 + 1;
      const flags = greeting.readUInt8(flagsAt + 1);
      greeting.writeUInt8(tls === undefined ? flags & ~SSL_BIT : flags | SSL_BIT, flagsAt + 1);
      server.pause();
      client.write(greeting);
    });
    client.once('data', (request: Buffer) => {
      client.pause();
      if (request.length < SSL_REQUEST_BYTES || tls === undefined) {
        logins += 1;
        return;
      }
      client.unshift(request.subarray(SSL_REQUEST_BYTES));
      createSecureServer(tls, (secured) => {
        secured.once('data', () => (logins += 1));
        join(secured, server);
      }).emit('connection', client);
    });
  });
  onTestFinished(() => front.close());
  return { port: front.port, logins: () => logins };
}

/** Forwards packets. During a login over TLS, sequence numbers are higher by one, because of the request for TLS. */
function join(secured: TLSSocket, server: Socket): void {
  let first = true;
  let loggedIn = false;
  const toServer = eachPacket((packet) => {
    if (loggedIn) return true;
    if (first) packet.writeUInt8(packet.readUInt8(HEADER_BYTES + 1) & ~SSL_BIT, HEADER_BYTES + 1);
    first = false;
    packet.writeUInt8(packet.readUInt8(SEQUENCE_AT) - 1, SEQUENCE_AT);
    return true;
  });
  const toClient = eachPacket((packet) => {
    if (loggedIn) return true;
    packet.writeUInt8(packet.readUInt8(SEQUENCE_AT) + 1, SEQUENCE_AT);
    loggedIn = [OK, ERROR].includes(packet.readUInt8(HEADER_BYTES));
    return true;
  });
  secured.on('error', () => undefined);
  secured.pipe(toServer).pipe(server);
  server.pipe(toClient).pipe(secured);
}
