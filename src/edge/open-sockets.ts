import type { ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';

/**
 * The longest request head that either server accepts, in bytes: the hard limit on metadata of gRPC implementations in
 * other languages, and Node's default for HTTP/1.1.
 */
export const HEAD_MAX_BYTES = 16_384;

/** An open socket whose client has shown no valid token. */
interface Stranger {
  readonly socket: Socket;
  /** The responses that the client has not received to their end. */
  readonly responses: Set<ServerResponse>;
}

/**
 * The open sockets of an HTTP server, including those whose TLS handshake is not complete. When there are as many as
 * there may be, a new one takes the place of the one that has been idle for longest, of those whose clients have shown
 * no valid token. A socket is idle while nothing but its client is waited for: to send a request, or to read a response.
 */
export class OpenSockets {
  readonly #open = new Set<Socket>();
  readonly #isCallers: (socket: Socket) => boolean;
  /** By the client's address, since Node does not say on which socket a TLS handshake was; the latest active one last. */
  readonly #strangers = new Map<string, Stranger>();

  /**
   * @param server whose sockets to follow from now on
   * @param most how many may be open
   * @param isCallers whether the latest request on a socket had a valid token
   */
  constructor(server: Server, most: number, isCallers: (socket: Socket) => boolean) {
    this.#isCallers = isCallers;
    // Node drops every further socket, before any event. The additional one takes another's place, or is refused.
    server.maxConnections = most + 1;
    server.prependListener('connection', (socket: Socket) => {
      if (this.#open.size < most || this.#evict()) this.#add(socket);
      // Later, since the listeners of the server still expect an open socket.
      else setImmediate(() => socket.destroy());
    });
  }

  /** A request has arrived. */
  begin(response: ServerResponse): void {
    const { socket } = response.req;
    const client = clientOf(socket);
    const stranger = this.#strangers.get(client);
    if (stranger === undefined) return;
    stranger.responses.add(response);
    this.#isActive(client, stranger);
    response.once('close', () => {
      stranger.responses.delete(response);
      if (this.#strangers.get(client) !== stranger) return;
      if (this.#isCallers(socket)) this.#strangers.delete(client);
      else this.#isActive(client, stranger);
    });
  }

  destroy(): void {
    for (const socket of this.#open) socket.destroy();
  }

  #add(socket: Socket): void {
    const client = clientOf(socket);
    this.#open.add(socket);
    this.#strangers.set(client, { socket, responses: new Set() });
    socket.once('close', () => {
      this.#open.delete(socket);
      if (this.#strangers.get(client)?.socket === socket) this.#strangers.delete(client);
    });
  }

  #isActive(client: string, stranger: Stranger): void {
    this.#strangers.delete(client);
    this.#strangers.set(client, stranger);
  }

  /** @returns whether there was an idle one */
  #evict(): boolean {
    for (const [client, { socket, responses }] of this.#strangers) {
      if ([...responses].some(({ headersSent, req }) => !headersSent || this.#isCallers(req.socket)))
        continue;
      this.#strangers.delete(client);
      this.#open.delete(socket);
      socket.destroy();
      return true;
    }
    return false;
  }
}

function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
