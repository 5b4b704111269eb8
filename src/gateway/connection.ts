import {
  connect as connectHttp2,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { connect as connectSocket, type Socket } from 'node:net';

/** What waits for a connection, and is told one of the two once. */
export interface Passenger {
  /** The connection stands. */
  board(connection: Connection): void;
  /** There is none. */
  leave(reason: string): void;
}

/** How far a connection goes. */
export interface ConnectionLimits {
  /** Longest time until it stands, in milliseconds. */
  readonly connectMs: number;
  /** After so many calls it takes no more. */
  readonly calls: number;
}

const LIMITS: ConnectionLimits = {
  // As gRPC's Connection Backoff Protocol has it.
  connectMs: 20_000,
  // HTTP/2 has ids for no more (RFC 9113, section 5.1.1).
  calls: 2 ** 30,
};

/** One connection to a gRPC server: it stands when the server's SETTINGS come, and once lost it stays so. */
export class Connection {
  /** The pseudo-header `:authority` of calls. */
  readonly authority: string;
  /** For ending an attempt to connect: Node's session would first wait for it to succeed. */
  readonly #socket: Socket;
  readonly #session: ClientHttp2Session;
  readonly #waiting = new Set<Passenger>();
  #stands = false;
  #lost = CLOSED;
  #callsLeft: number;
  #callsUnderWay = 0;
  #retired = false;

  /**
   * @param address `host:port`, where the host may be an IPv6 address in brackets, or `unix:/path`.
   * @param onStands called when the connection stands, before any who wait.
   */
  constructor(address: string, onStands: () => void, limits = LIMITS) {
    this.authority = address.startsWith(UNIX) ? 'localhost' : address;
    this.#callsLeft = limits.calls;
    const socket = openSocket(address);
    this.#socket = socket;
    const session = openSession(socket);
    this.#session = session;
    const timer = setTimeout(() => {
      socket.destroy(new Error('The server sent no SETTINGS.'));
    }, limits.connectMs);
    session.once('remoteSettings', () => {
      clearTimeout(timer);
      this.#stands = true;
      onStands();
      for (const passenger of this.#takeWaiting()) passenger.board(this);
    });
    session.on('error', (error: Error) => {
      this.#lost = error.message;
    });
    session.once('close', () => {
      clearTimeout(timer);
      for (const passenger of this.#takeWaiting()) passenger.leave(this.#lost);
    });
    // Whoever waits for an answer keeps the process running, not the connection.
    timer.unref();
    session.unref();
  }

  /** Whether it stands or may yet: not so after a loss, after the server's GOAWAY, or with no ids left. */
  get takesCalls(): boolean {
    return !this.#retired && !this.#session.closed && !this.#session.destroyed;
  }

  /** Whether it broke, and all calls with it. */
  get broken(): boolean {
    return this.#session.destroyed;
  }

  /** Tells the passenger at once where the connection stands, else when that is decided. */
  admit(passenger: Passenger): void {
    if (this.#stands) passenger.board(this);
    else this.#waiting.add(passenger);
  }

  /** Forgets a passenger who waits no longer. */
  forget(passenger: Passenger): void {
    this.#waiting.delete(passenger);
  }

  /**
   * Opens a stream, whose end is to be told by `release`.
   *
   * @throws Error where a header is none.
   */
  request(headers: OutgoingHttpHeaders): ClientHttp2Stream {
    const stream = this.#session.request(headers);
    this.#callsUnderWay += 1;
    this.#callsLeft -= 1;
    if (this.#callsLeft === 0) this.close();
    return stream;
  }

  /** A stream has closed. */
  release(): void {
    this.#callsUnderWay -= 1;
    this.#closeWhenIdle();
  }

  /** Calls that are under way go on to their end; who still waits is told that there is no connection. */
  close(): void {
    this.#retired = true;
    if (this.#stands) this.#closeWhenIdle();
    else this.#socket.destroy(new Error(CLOSED));
  }

  // Not earlier: the GOAWAY overtakes requests that are on their way, and the server would refuse them.
  #closeWhenIdle(): void {
    if (this.#retired && this.#callsUnderWay === 0) this.#session.close();
  }

  #takeWaiting(): Passenger[] {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    return waiting;
  }
}

const UNIX = 'unix:';
const CLOSED = 'The connection was closed.';

function openSession(socket: Socket): ClientHttp2Session {
  return connectHttp2('http://localhost', {
    createConnection: () => socket,
    settings: { enablePush: false },
    // Node refuses streams beyond its limit, which a few large answers reach; each call has a limit of its own.
    maxSessionMemory: Number.MAX_SAFE_INTEGER,
  });
}

function openSocket(address: string): Socket {
  if (address.startsWith(UNIX)) return connectSocket(address.slice(UNIX.length));
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  return connectSocket(Number(address.slice(colon + 1)), host);
}
