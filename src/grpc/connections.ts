import {
  constants,
  type Http2Server,
  type Http2Session,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { HEAD_MAX_BYTES } from '../calls/call.js';
import type { Limits } from '../settings/config.js';
import { Connection, type ConnectionTimes, StreamCount } from './connection.js';
import { StreamShare } from './stream-share.js';

/** Every tenth check is also a sweep, which ends whatever is overdue on any connection. */
const CHECKS_PER_SWEEP = 10;
/** The announced limits of all connections may add up to this many times `mostStreams`, since few are busy at once. */
const OVERBOOKING_FACTOR = 3;
/** Client errors for which the server ends a session. Other codes are socket errors, or ends by the client. */
const CLIENT_ERRORS: ReadonlySet<string | undefined> = new Set([
  'ERR_HTTP2_ERROR',
  'ERR_HTTP2_TOO_MANY_INVALID_FRAMES',
]);
/** The overhead of each header beyond its name and value, in bytes (RFC 9113, section 6.5.2). */
const HEADER_BYTES = 32;

interface ConnectionsOptions
  extends ConnectionTimes, Pick<Limits, 'maxConnections' | 'maxStreams' | 'grpcIdleMs' | 'deadlineMs'> {
  /** The streams that all busy connections share, so that calls wait at their clients rather than here. */
  readonly sharedStreams: number;
  /** The most streams that may be open at once on all connections together; further ones are refused. */
  readonly mostStreams: number;
  /** Called with the reason when the server ends a connection because of a client's error. Default: not called. */
  readonly onError?: ((reason: string) => void) | undefined;
}

/**
 * The connections with unary calls in progress or lately, and the new connections, as a check finds them. A call is at
 * work unless it waits for its client; a connection is busy if it has had more than a few calls at work at once
 * (`connection.ts`).
 */
interface ConnectionsByLoad {
  readonly busy: ReadonlySet<Connection>;
  /** Connections with few calls, and new connections; none of them is busy. */
  readonly quiet: ReadonlySet<Connection>;
  /** How many calls of the quiet connections are at work. */
  readonly quietStreams: number;
}

/** The connections of an HTTP/2 server. Limits their number, streams and time, and closes them. */
export class Connections {
  readonly #options: ConnectionsOptions;
  /** The sockets of all connections, and of those whose TLS handshake is not complete. */
  readonly #sockets = new Set<Socket>();
  readonly #open = new Set<Connection>();
  /** By session. `undefined` is never added: so a stream whose session has ended is found to have no connection. */
  readonly #ofSession = new Map<Http2Session | undefined, Connection>();
  /** Connections on which a unary call is in progress, or was lately. */
  readonly #withCalls = new Set<Connection>();
  /** How many connections were busy at the last check. */
  #busy = 0;
  /** New connections: until a check has announced a share to them, they have the share that they began with. */
  readonly #arrived = new Set<Connection>();
  readonly #share: StreamShare;
  readonly #streams = new StreamCount();
  readonly #timer: NodeJS.Timeout;
  #checks = 0;
  /** Called when no connection is left. Set while the server closes. */
  #onEmpty: (() => void) | undefined;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#share = new StreamShare(options.maxStreams, {
      busy: options.sharedStreams,
      open: OVERBOOKING_FACTOR * options.mostStreams,
    });
    this.#timer = setInterval(() => {
      this.#check();
    }, options.checkMs).unref();
  }

  get #isClosing(): boolean {
    return this.#onEmpty !== undefined;
  }

  /** Manages the connections that a listening server accepts from now on. */
  attach(listener: Http2Server): void {
    listener.updateSettings({ maxHeaderListSize: HEAD_MAX_BYTES });
    listener.maxConnections = this.#options.maxConnections;
    listener.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });

    const secure = listener instanceof TlsServer;
    let awaitingSession: Connection | undefined;
    listener.prependListener(secure ? 'secureConnection' : 'connection', (socket: Socket) => {
      awaitingSession = this.#accept(socket);
    });

    // Node's own connection listener creates the session, so the session belongs to the connection just accepted. If TLS
    // has negotiated another protocol, there is no session, and the next connection takes the place of this connection.
    listener.prependListener('session', (session) => {
      if (awaitingSession !== undefined) this.#begin(awaitingSession, session);
      awaitingSession = undefined;
    });

    listener.on('sessionError', (error: NodeJS.ErrnoException) => {
      if (CLIENT_ERRORS.has(error.code)) this.#options.onError?.(error.message);
    });
  }

  #accept(socket: Socket): Connection {
    const connection = new Connection(socket, this.#options, this.#streams, clock());
    this.#open.add(connection);
    socket.once('close', () => {
      this.#open.delete(connection);
      this.#withCalls.delete(connection);
      this.#arrived.delete(connection);
      connection.release();
      if (this.#open.size === 0) this.#onEmpty?.();
    });
    return connection;
  }

  #begin(connection: Connection, session: ServerHttp2Session): void {
    // Counted as busy: many connections that arrive at once may all become busy before the next check.
    this.#arrived.add(connection);
    const share = this.#share.forNew(this.#busy + this.#arrived.size, this.#open.size);
    connection.begin(session, share);

    this.#ofSession.set(session, connection);
    session.once('close', () => this.#ofSession.delete(session));
    // The handshake completed after the other connections had been told to end.
    if (this.#isClosing) connection.goAway(clock());
  }

  /**
   * Accepts the new stream of a unary call, or resets it: with REFUSED_STREAM if too many are open, with
   * ENHANCE_YOUR_CALM if its head is too long.
   *
   * @param rawHeaders its head: alternating names and values
   * @returns the connection of a stream that was accepted
   */
  acceptCall(stream: ServerHttp2Stream, rawHeaders: readonly string[]): Connection | undefined {
    const connection = this.#connectionOf(stream);
    if (connection === undefined) return undefined;

    connection.addCall(stream, clock());
    this.#withCalls.add(connection);
    return acceptHead(stream, rawHeaders) ? connection : undefined;
  }

  /**
   * Accepts or resets the new stream of a streaming call, as `acceptCall` does.
   *
   * @param requestMs how long the request may take, in milliseconds
   */
  acceptStreamingCall(
    stream: ServerHttp2Stream,
    rawHeaders: readonly string[],
    requestMs: number,
  ): Connection | undefined {
    const connection = this.#connectionOf(stream);
    if (connection === undefined) return undefined;

    connection.addStreamingCall(stream, clock(), requestMs);
    return acceptHead(stream, rawHeaders) ? connection : undefined;
  }

  /** The connection of a new stream; undefined, with the stream reset, if it has ended or there are too many streams. */
  #connectionOf(stream: ServerHttp2Stream): Connection | undefined {
    const connection = this.#ofSession.get(stream.session);
    if (connection !== undefined && this.#streams.count < this.#options.mostStreams) return connection;

    stream.close(constants.NGHTTP2_REFUSED_STREAM);
    return undefined;
  }

  /**
   * Sends GOAWAY to all clients, and resolves when all connections have ended. After `graceMs`, destroys the remaining
   * connections. The server must have stopped listening.
   */
  async close(graceMs: number): Promise<void> {
    const grace = setTimeout(() => {
      for (const connection of this.#open) connection.destroy();
    }, graceMs);

    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
      for (const connection of this.#open) connection.goAway(clock());
      if (this.#open.size === 0) resolve();
    });

    clearTimeout(grace);
    clearInterval(this.#timer);
    // Only unfinished TLS handshakes are left, and are not worth waiting for.
    for (const socket of this.#sockets) socket.destroy();
  }

  #check(): void {
    const now = clock();
    this.#announceShares(this.#byLoad(now));
    this.#checks = (this.#checks + 1) % CHECKS_PER_SWEEP;
    // While the server closes, every check is a sweep, since `close` waits for the last connection.
    if (this.#checks === 0 || this.#isClosing)
      for (const connection of this.#open) connection.endOverdue(now);
  }

  /** Samples the calls of each connection, and tells the busy connections from the quiet ones. */
  #byLoad(now: number): ConnectionsByLoad {
    const busy = new Set<Connection>();
    const quiet = new Set<Connection>();
    let quietStreams = 0;
    for (const connection of this.#withCalls) {
      const calls = connection.sampleCalls(now);
      if (calls === undefined) this.#withCalls.delete(connection);
      else if (calls.busy) busy.add(connection);
      else {
        quiet.add(connection);
        quietStreams += calls.atWork;
      }
    }

    // A new connection may be busy already.
    for (const connection of this.#arrived) if (!busy.has(connection)) quiet.add(connection);
    return { busy, quiet, quietStreams };
  }

  /** Announces its share to each busy or quiet connection. All others keep theirs, unless it has become too large. */
  #announceShares({ busy, quiet, quietStreams }: ConnectionsByLoad): void {
    this.#busy = busy.size;
    const busyShare = this.#share.forBusy(busy.size, quietStreams);
    const mostOfNotBusy = this.#share.forNotBusy(this.#open.size);

    for (const connection of busy) this.#announce(connection, busyShare);
    for (const connection of quiet) this.#announce(connection, Math.min(busyShare, mostOfNotBusy));

    // No connection was ever announced more than `maxStreams`, so none can be above this limit.
    if (mostOfNotBusy >= this.#options.maxStreams) return;
    for (const connection of this.#open)
      if (!busy.has(connection)) connection.lowerMaxConcurrentStreams(mostOfNotBusy);
  }

  #announce(connection: Connection, share: number): void {
    // Not while the client has yet to acknowledge the last limit; the next check tries again.
    if (connection.setMaxConcurrentStreams(share)) this.#arrived.delete(connection);
  }
}

/**
 * Resets a new stream if its head is too long. The stream is counted already: it takes up memory until it has closed.
 *
 * @returns whether the stream may be used
 */
function acceptHead(stream: ServerHttp2Stream, rawHeaders: readonly string[]): boolean {
  // Its client has reset it right after the head.
  if (stream.closed) return false;
  if (!isTooLong(rawHeaders)) return true;

  stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  return false;
}

/**
 * Whether the headers of a call are too long, as SETTINGS_MAX_HEADER_LIST_SIZE counts them. Node itself enforces that
 * setting only once the client has acknowledged it, and a few bytes of HPACK can expand to half a megabyte.
 *
 * @param rawHeaders alternating names and values
 */
function isTooLong(rawHeaders: readonly string[]): boolean {
  let bytes = (rawHeaders.length / 2) * HEADER_BYTES;
  for (const text of rawHeaders) bytes += text.length;
  return bytes > HEAD_MAX_BYTES;
}

/** The time in whole milliseconds, since an integer needs no allocation. */
function clock(): number {
  return Math.round(performance.now());
}
