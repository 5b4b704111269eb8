import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { MEMBER } from './library-server.js';

/** Opens a connection, and records everything that it receives. */
export function openConnection({ origin }: { readonly origin: string }): {
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
  onTestFinished(() => void socket.destroy());
  return {
    socket,
    received: () => received,
    closed: new Promise((resolve) => socket.once('close', resolve)),
  };
}

/** A GET of a member, to be pipelined. */
export function getRequest(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${MEMBER}\r\n\r\n`;
}
