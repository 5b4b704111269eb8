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
import { Connection, type ConnectionLimits, type ConnectionTimes, StreamCount } from './connection.js';
import { StreamLimits, type StreamLimitsOptions } from './stream-limits.js';

/** Every tenth check is also a sweep, which ends whatever is overdue on any connection. */
const CHECKS_PER_SWEEP = 10;
/** Client errors for which the server ends a session. Other codes mean a socket error, or that the client closed. */
const CLIENT_ERRORS: ReadonlySet<string | undefined> = new Set([
  'ERR_HTTP2_ERROR',
  'ERR_HTTP2_TOO_MANY_INVALID_FRAMES',
]);
/** The overhead of each header beyond its name and value, in bytes (RFC 9113, section 6.5.2). */
const HEADER_BYTES = 32;

/** The limits and times of each connection (`ConnectionLimits`), and of all together. */
interface ConnectionsOptions
  extends
    ConnectionLimits,
    StreamLimitsOptions,
    Pick<ConnectionTimes, 'checkMs'>,
    Pick<Limits, 'maxConnections'> {
  /** Called with the reason when the server ends a connection because of a client's error. Default: not called. */
  readonly onError?: ((reason: string) => void) | undefined;
}

/** The connections of an HTTP/2 server. Limits their number, streams and time, and closes them. */
export class Connections {
  readonly #options: ConnectionsOptions;
  /** The sockets of all connections, and of those whose TLS handshake is not complete. */
  readonly #sockets = new Set<Socket>();
  readonly #open = new Set<Connection>();
  /** By session. A stream whose session has ended has `undefined` in its place, and so no connection. */
  readonly #ofSession = new Map<Http2Session | undefined, Connection>();
  readonly #streamLimits: StreamLimits;
  /** The open streams of all connections. */
  readonly #streams = new StreamCount();
  readonly #timer: NodeJS.Timeout;
  #checks = 0;
  /** Called when no connection is left. Set while the server closes. */
  #onEmpty: (() => void) | undefined;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#streamLimits = new StreamLimits(this.#open, options);
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
    // Node's own listener for connections creates the session. The first listener below runs before it, and the second
    // one during it, before the server's other listeners for sessions. If TLS has negotiated another protocol, no session
    // follows; then the next connection overwrites `awaitingSession`.
    let awaitingSession: Connection | undefined;
    listener.prependListener(secure ? 'secureConnection' : 'connection', (socket: Socket) => {
      awaitingSession = this.#accept(socket);
    });
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
      this.#streamLimits.remove(connection);
      connection.releaseSession();
      if (this.#open.size === 0) this.#onEmpty?.();
    });
    return connection;
  }

  #begin(connection: Connection, session: ServerHttp2Session): void {
    connection.begin(session, this.#streamLimits.add(connection));
    this.#ofSession.set(session, connection);
    session.once('close', () => this.#ofSession.delete(session));
    // The handshake completed after the other connections had been told to end.
    if (this.#isClosing) connection.goAway(clock());
  }

  /**
   * Accepts the new stream of a unary call, or resets it: with REFUSED_STREAM if its connection has ended or too many
   * streams are open, with ENHANCE_YOUR_CALM if its head is too long.
   *
   * @param rawHeaders its head: alternating names and values
   * @returns the connection of a stream that was accepted; undefined if it was reset, here or by its client
   */
  acceptCall(stream: ServerHttp2Stream, rawHeaders: readonly string[]): Connection | undefined {
    const connection = this.#connectionOrReset(stream);
    if (connection === undefined) return undefined;

    // Counted before its head is checked: the stream takes up memory until it has closed.
    connection.addCall(stream, clock());
    this.#streamLimits.noteCall(connection);
    resetIfHeadTooLong(stream, rawHeaders);
    return stream.closed ? undefined : connection;
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
    const connection = this.#connectionOrReset(stream);
    if (connection === undefined) return undefined;

    connection.addStreamingCall(stream, clock(), requestMs);
    resetIfHeadTooLong(stream, rawHeaders);
    return stream.closed ? undefined : connection;
  }

  /** The connection of a new stream. If it has ended, or too many streams are open, resets the stream: then undefined. */
  #connectionOrReset(stream: ServerHttp2Stream): Connection | undefined {
    const connection = this.#ofSession.get(stream.session);
    if (connection !== undefined && this.#streams.count < this.#options.mostStreamsOfAll) return connection;

    stream.close(constants.NGHTTP2_REFUSED_STREAM);
    return undefined;
  }

  /**
   * Sends GOAWAY to all clients, and resolves when all connections have ended. After `graceMs`, destroys the remaining
   * connections. Must be called once, after the server has stopped listening.
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
    this.#streamLimits.update(now);
    this.#checks = (this.#checks + 1) % CHECKS_PER_SWEEP;
    // While the server closes, every check is a sweep, since `close` waits for the last connection.
    if (this.#checks === 0 || this.#isClosing)
      for (const connection of this.#open) connection.endOverdue(now);
  }
}

/** Leaves alone a stream that its client has already reset. */
function resetIfHeadTooLong(stream: ServerHttp2Stream, rawHeaders: readonly string[]): void {
  if (!stream.closed && isTooLong(rawHeaders)) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
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
