import type { Server, Socket } from 'node:net';

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
