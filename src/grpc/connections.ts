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

/** How many checks there are per sweep; a sweep ends whatever is overdue on any connection. */
const CHECKS_PER_SWEEP = 10;
/** The announced limits of all connections may add up to this many times `mostStreams`, since few are busy at once. */
const OVERBOOKED = 3;
/** Client errors for which the server ends a session. Other codes are socket errors, or ends by the client. */
const CLIENT_ERRORS: ReadonlySet<string | undefined> = new Set([
  'ERR_HTTP2_ERROR',
  'ERR_HTTP2_TOO_MANY_INVALID_FRAMES',
]);
/** The overhead of each header beyond its name and value, in bytes (RFC 9113, section 6.5.2). */
const HEADER_BYTES = 32;

interface ConnectionsOptions
  extends ConnectionTimes, Pick<Limits, 'maxConnections' | 'maxStreams' | 'grpcIdleMs' | 'deadlineMs'> {
  /** The streams that the busy connections share. */
  readonly sharedStreams: number;
  /** The most streams of all connections. */
  readonly mostStreams: number;
  /** Called with the reason when the server ends a connection because of a client's error. Default: not called. */
  readonly onError?: ((reason: string) => void) | undefined;
}

/** The connections of an HTTP/2 server. Limits their number, streams and time, and closes them. */
export class Connections {
  readonly #options: ConnectionsOptions;
  /** The sockets of all connections, and of those whose TLS handshake is not complete. */
  readonly #sockets = new Set<Socket>();
  readonly #open = new Set<Connection>();
  readonly #ofSession = new Map<Http2Session | undefined, Connection>();
  /** Connections with a unary call in progress, or with one lately. */
  readonly #withCalls = new Set<Connection>();
  /** How many of them were busy at the last check. */
  #busy = 0;
  /** Connections to which only the share of a new connection has been announced. */
  readonly #arrived = new Set<Connection>();
  readonly #share: StreamShare;
  readonly #streams = new StreamCount();
  readonly #timer: NodeJS.Timeout;
  /** The time of the last check. */
  #now = clock();
  #checks = 0;
  /** Called when no connection is left; set when the connections are told to end. */
  #onEmpty: (() => void) | undefined;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#share = new StreamShare(options.maxStreams, {
      busy: options.sharedStreams,
      open: OVERBOOKED * options.mostStreams,
    });
    this.#timer = setInterval(() => {
      this.#check();
    }, options.checkMs).unref();
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

    // Node's own connection listener creates the session, so the session belongs to the connection just accepted.
    listener.prependListener('session', (session) => {
      if (awaitingSession !== undefined) this.#begin(awaitingSession, session);
      awaitingSession = undefined;
    });

    listener.on('sessionError', (error: NodeJS.ErrnoException) => {
      if (CLIENT_ERRORS.has(error.code)) this.#options.onError?.(error.message);
    });
  }

  #accept(socket: Socket): Connection {
    const connection = new Connection(socket, this.#options, this.#streams, this.#now);
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
    // Many connections that arrive at once may all become busy before the next check.
    this.#arrived.add(connection);
    const share = this.#share.forNew(this.#busy + this.#arrived.size, this.#open.size);
    connection.begin(session, share);

    this.#ofSession.set(session, connection);
    session.once('close', () => this.#ofSession.delete(session));
    // The handshake completed after the other connections had been told to end.
    if (this.#onEmpty !== undefined) connection.goAway(this.#now);
  }

  /**
   * Accepts the new stream of a unary call, or resets it: with REFUSED_STREAM if too many are open, with
   * ENHANCE_YOUR_CALM if its head is too long.
   *
   * @param rawHeaders its head: alternating names and values
   * @returns the connection of a stream that was accepted
   */
  takeCall(stream: ServerHttp2Stream, rawHeaders: readonly string[]): Connection | undefined {
    const connection = this.#connectionOf(stream);
    if (connection === undefined) return undefined;

    connection.addCall(stream, clock());
    this.#withCalls.add(connection);
    return acceptHead(stream, rawHeaders) ? connection : undefined;
  }

  /**
   * Accepts or resets the new stream of a streaming call, as `takeCall` does.
   *
   * @param requestMs how long the request may take, in milliseconds
   */
  takeStreamingCall(
    stream: ServerHttp2Stream,
    rawHeaders: readonly string[],
    requestMs: number,
  ): Connection | undefined {
    const connection = this.#connectionOf(stream);
    if (connection === undefined) return undefined;

    connection.addStreamingCall(stream, clock(), requestMs);
    return acceptHead(stream, rawHeaders) ? connection : undefined;
  }

  /** The connection that a new stream is on; undefined, with the stream reset, if there are too many streams. */
  #connectionOf(stream: ServerHttp2Stream): Connection | undefined {
    const connection = this.#ofSession.get(stream.session);
    if (connection !== undefined && this.#streams.count < this.#options.mostStreams) return connection;

    stream.close(constants.NGHTTP2_REFUSED_STREAM);
    return undefined;
  }

  /**
   * Sends GOAWAY to all clients, and resolves when all connections have ended. After `graceMs`, destroys the remaining
   * ones. The server must have stopped listening.
   */
  async close(graceMs: number): Promise<void> {
    const grace = setTimeout(() => {
      for (const connection of this.#open) connection.destroy();
    }, graceMs);

    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
      for (const connection of this.#open) connection.goAway(this.#now);
      if (this.#open.size === 0) resolve();
    });

    clearTimeout(grace);
    clearInterval(this.#timer);
    // Only unfinished TLS handshakes are left, and are not worth waiting for.
    for (const socket of this.#sockets) socket.destroy();
  }

  #check(): void {
    this.#now = clock();
    this.#shareStreams();
    this.#checks = (this.#checks + 1) % CHECKS_PER_SWEEP;
    // While the server closes, every check is a sweep, since `close` waits for the last connection.
    if (this.#checks === 0 || this.#onEmpty !== undefined)
      for (const connection of this.#open) connection.endOverdue(this.#now);
  }

  #shareStreams(): void {
    const busy = new Set<Connection>();
    const quiet = new Set<Connection>(this.#arrived);
    let quietStreams = 0;
    for (const connection of this.#withCalls) {
      const calls = connection.sampleCalls(this.#now);
      if (calls === undefined) this.#withCalls.delete(connection);
      else if (calls.busy) busy.add(connection);
      else {
        quiet.add(connection);
        quietStreams += calls.atWork;
      }
    }

    this.#busy = busy.size;
    const share = this.#share.forBusy(busy.size, quietStreams);
    const most = this.#share.forIdle(this.#open.size);

    for (const connection of busy) this.#announce(connection, share);
    for (const connection of quiet)
      if (!busy.has(connection)) this.#announce(connection, Math.min(share, most));
    if (most < this.#options.maxStreams)
      for (const connection of this.#open)
        if (!busy.has(connection)) connection.lowerMaxConcurrentStreams(most);
  }

  #announce(connection: Connection, share: number): void {
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
