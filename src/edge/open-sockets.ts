import type { Server, Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';

/**
 * The longest request head that either server accepts, in bytes: the hard limit on metadata of gRPC implementations in
 * other languages, and Node's default for HTTP/1.1.
 */
export const HEAD_MAX_BYTES = 16_384;

/** How many sockets may be open beyond the limit, while those that are ended for new ones have not closed. */
const ENDING_MAX = 64;

/**
 * An open socket of a server. It is idle while no request is in progress on it, from the moment at which it was
 * accepted, and may then be ended for a new one.
 */
export class OpenSocket {
  /** Ends the socket for a new one. Default: at once. */
  end: () => void;
  readonly #idle: IdleSockets;
  #requests = 0;
  #kept = false;

  constructor(socket: Socket, idle: IdleSockets) {
    this.end = () => {
      socket.destroy();
    };
    this.#idle = idle;
    idle.add(this);
  }

  /** Whether the socket is never ended for a new one. */
  get kept(): boolean {
    return this.#kept;
  }

  /** Makes the socket one that is never ended for a new one, since its client has shown who it is. */
  keep(): void {
    this.#kept = true;
    this.#idle.delete(this);
  }

  /** A request begins. */
  begin(): void {
    if (this.#kept) return;
    this.#requests += 1;
    if (this.#requests === 1) this.#idle.delete(this);
  }

  /** A request is over. */
  finish(): void {
    if (this.#kept) return;
    this.#requests -= 1;
    if (this.#requests === 0) this.#idle.add(this);
  }
}

/** The sockets that may be ended, the one that has been idle for longest first. */
class IdleSockets {
  readonly #sockets = new Set<OpenSocket>();
  readonly #onChange: () => void;

  /** @param onChange is called when the first socket becomes idle, and when none is any longer */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#sockets.size;
  }

  get longest(): OpenSocket | undefined {
    return this.#sockets.values().next().value;
  }

  add(socket: OpenSocket): void {
    this.#sockets.add(socket);
    if (this.#sockets.size === 1) this.#onChange();
  }

  delete(socket: OpenSocket): void {
    if (this.#sockets.delete(socket) && this.#sockets.size === 0) this.#onChange();
  }
}

/**
 * The open sockets of a server, including those whose TLS handshake is not complete. When there are as many as there may
 * be, the one that has been idle for longest is ended for a new one. Without an idle one, Node drops the new one.
 */
export class OpenSockets {
  readonly #server: Server;
  readonly #most: number;
  readonly #open = new Set<Socket>();
  readonly #ofSocket = new WeakMap<Socket, OpenSocket>();
  /** With TLS, by the client's address and port. */
  readonly #ofClient = new Map<string, OpenSocket>();
  readonly #idle = new IdleSockets(() => {
    this.#limit();
  });
  /** Those that are ended for new ones and have not closed. */
  readonly #ending = new Set<OpenSocket>();

  /**
   * @param server whose sockets to follow from now on
   * @param most how many may be open, besides up to 64 that are being ended
   */
  constructor(server: Server, most: number) {
    this.#server = server;
    this.#most = most;
    this.#limit();
    const secure = server instanceof TlsServer;
    server.prependListener('connection', (socket: Socket) => {
      const open = this.#accept(socket);
      if (secure) this.#awaitHandshake(socket, open);
      else this.#ofSocket.set(socket, open);
    });
    server.prependListener('secureConnection', (socket: Socket) => {
      const open = this.#ofClient.get(clientOf(socket));
      if (open !== undefined) this.#ofSocket.set(socket, open);
    });
  }

  /** The open socket from the event `connection` or, with TLS, `secureConnection`. */
  of(socket: Socket): OpenSocket | undefined {
    return this.#ofSocket.get(socket);
  }

  destroy(): void {
    for (const socket of this.#open) socket.destroy();
  }

  #accept(socket: Socket): OpenSocket {
    if (this.#open.size - this.#ending.size >= this.#most) this.#endLongestIdle();
    const open = new OpenSocket(socket, this.#idle);
    this.#open.add(socket);
    socket.once('close', () => {
      this.#open.delete(socket);
      open.keep();
      if (this.#ending.delete(open)) this.#limit();
    });
    return open;
  }

  #endLongestIdle(): void {
    const { longest } = this.#idle;
    if (longest === undefined) return;
    this.#ending.add(longest);
    longest.keep();
    this.#limit();
    longest.end();
  }

  /** Node drops every socket beyond this number, before any event. */
  #limit(): void {
    const replaceable = this.#idle.size > 0 ? 1 : 0;
    this.#server.maxConnections = this.#most + Math.min(ENDING_MAX, this.#ending.size + replaceable);
  }

  /** Node does not say on which socket a handshake was, but the address of its client does. */
  #awaitHandshake(socket: Socket, open: OpenSocket): void {
    const client = clientOf(socket);
    // Clients of a Unix socket have none.
    if (socket.remotePort === undefined) open.keep();
    this.#ofClient.set(client, open);
    socket.once('close', () => {
      if (this.#ofClient.get(client) === open) this.#ofClient.delete(client);
    });
  }
}

function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
