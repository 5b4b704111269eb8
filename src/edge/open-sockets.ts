import type { Server, Socket } from 'node:net';

/**
 * The longest request head that either server accepts, in bytes: the hard limit on metadata of gRPC implementations in
 * other languages, and Node's default for HTTP/1.1.
 */
export const HEAD_MAX_BYTES = 16_384;

/** The open sockets of servers, including those whose TLS handshake is not complete. */
export class OpenSockets {
  readonly #open = new Set<Socket>();

  /** Tracks the connections that a server accepts from now on. */
  follow(server: Server): void {
    server.prependListener('connection', (socket: Socket) => {
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
    });
  }

  destroy(): void {
    for (const socket of this.#open) socket.destroy();
  }
}
