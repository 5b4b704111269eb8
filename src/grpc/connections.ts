import {
  constants,
  type Http2Server,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { HEAD_MAX_BYTES, OpenSockets } from '../edge/open-sockets.js';
import type { Limits } from '../settings/config.js';
import { currentNativePart, EndedSessions } from './ended-sessions.js';
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
/** The part of `maxConnections` whose clients may send more than `HEAD_MAX_BYTES` before they acknowledge the settings. */
const UNACKNOWLEDGED_PART = 1 / 8;

/** With more unary calls at work at once than this, a connection is busy. */
const FEW_CALLS = 2;
/** How long a busy connection stays busy, in milliseconds: longer than the pauses of a caller that works in bursts. */
const BUSY_MS = 1_000;

/** The overhead of each header beyond its name and value, in bytes (RFC 9113, section 6.5.2). */
const HEADER_BYTES = 32;

/** Times that are not configurable, in milliseconds. */
export interface ConnectionTimes {
  /** How long a client may take to acknowledge the server's settings, and a closed connection to disappear. */
  readonly patienceMs: number;
  /** How long a stream may stay open beyond the time limit of its call. */
  readonly resetMs: number;
  /** The interval between checks of the connections. */
  readonly checkMs: number;
}

interface ConnectionsOptions
  extends ConnectionTimes, Pick<Limits, 'maxConnections' | 'maxStreams' | 'grpcIdleMs' | 'deadlineMs'> {
  /** The streams that the busy connections share. */
  readonly sharedStreams: number;
  /** The most streams of all connections. */
  readonly mostStreams: number;
  /** Called with the reason when the server ends a connection because of a client's error. Default: not called. */
  readonly onError?: ((reason: string) => void) | undefined;
}

/** The arguments of Node's `stream` event; `rawHeaders` alternates names and values. */
export type StreamEvent = [
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: string[],
];

/** The connections of an HTTP/2 server. Limits their number, streams and time, and closes them. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #sockets = new OpenSockets();
  readonly #open = new Set<Connection>();
  readonly #ended = new EndedSessions();
  readonly #ofSession = new Map<Http2Session | undefined, Connection>();
  /** Connections with a unary call in progress, or with one lately. */
  readonly #withCalls = new Set<Connection>();
  /** How many of them were busy at the last check. */
  #busy = 0;
  /** Connections to which only the share of a new connection has been announced. */
  readonly #arrived = new Set<Connection>();
  /** Connections not yet known to have acknowledged the settings, oldest first. */
  readonly #unacknowledged = new Set<Connection>();
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
    listener.maxConnections = this.#options.maxConnections;
    listener.updateSettings({ maxHeaderListSize: HEAD_MAX_BYTES });
    this.#sockets.follow(listener);
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
    const connection = new Connection(socket, this.#options, this.#ended, this.#streams, this.#now);
    this.#open.add(connection);
    this.#unacknowledged.add(connection);
    socket.once('close', () => {
      this.#open.delete(connection);
      this.#withCalls.delete(connection);
      this.#arrived.delete(connection);
      this.#unacknowledged.delete(connection);
      connection.release();
      if (this.#open.size === 0) this.#onEmpty?.();
    });
    return connection;
  }

  #begin(connection: Connection, session: Parameters<Connection['begin']>[0]): void {
    // Many connections that arrive at once may all become busy before the next check.
    this.#arrived.add(connection);
    const share = this.#share.ofNew(this.#busy + this.#arrived.size, this.#open.size);
    connection.begin(session, share);
    this.#ofSession.set(session, connection);
    session.once('close', () => this.#ofSession.delete(session));
    // The handshake completed after the other connections had been told to end.
    if (this.#onEmpty !== undefined) connection.goAway(this.#now);
  }

  /**
   * Accepts a new stream, or resets it: with REFUSED_STREAM if too many are open, with ENHANCE_YOUR_CALM if its request
   * head is too long.
   *
   * @param requestMs how long the request of a streaming call may take, in milliseconds; undefined for a unary call
   * @returns whether the stream may be used
   */
  take([stream, , , rawHeaders]: StreamEvent, requestMs: number | undefined): boolean {
    const connection = this.#ofSession.get(stream.session);
    if (connection === undefined || this.#streams.count >= this.#options.mostStreams) {
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
      return false;
    }
    if (requestMs !== undefined) connection.addStreamingCall(stream, clock(), requestMs);
    else {
      connection.addCall(stream, clock());
      this.#withCalls.add(connection);
    }
    if (isTooLong(rawHeaders)) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    return !stream.closed;
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
    this.#sockets.destroy();
  }

  #check(): void {
    this.#now = clock();
    this.#shareStreams();
    this.#endUnacknowledged();
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
      const seen = connection.look(this.#now);
      if (seen === undefined) this.#withCalls.delete(connection);
      else if (seen.busy) busy.add(connection);
      else {
        quiet.add(connection);
        quietStreams += seen.atWork;
      }
    }
    this.#busy = busy.size;
    const share = this.#share.among(busy.size, quietStreams);
    const most = this.#share.ofIdle(this.#open.size);
    for (const connection of busy) this.#tell(connection, share);
    for (const connection of quiet) if (!busy.has(connection)) this.#tell(connection, Math.min(share, most));
    if (most < this.#options.maxStreams)
      for (const connection of this.#open) if (!busy.has(connection)) connection.limitStreams(most);
  }

  #tell(connection: Connection, share: number): void {
    if (connection.setMaxConcurrentStreams(share)) this.#arrived.delete(connection);
  }

  /** From a client that has not acknowledged the settings, headers that never end take 20 times as much memory. */
  #endUnacknowledged(): void {
    const greedy: Connection[] = [];
    for (const connection of this.#unacknowledged) {
      if (connection.acknowledged) this.#unacknowledged.delete(connection);
      else if (connection.received > HEAD_MAX_BYTES) greedy.push(connection);
    }
    const most = Math.ceil(this.#options.maxConnections * UNACKNOWLEDGED_PART);
    for (const connection of greedy.slice(0, -most)) connection.destroy();
  }
}

/** One HTTP/2 connection and its open streams. Every time is in milliseconds on the same monotonic clock. */
class Connection {
  readonly #options: ConnectionsOptions;
  readonly #socket: Socket;
  readonly #ended: EndedSessions;
  readonly #streamCount: StreamCount;
  #session: ServerHttp2Session | undefined;
  /** The session's native object, which must outlive the session. */
  #native: object | undefined;
  /** The open streams of unary calls, each with the time at which it began. */
  readonly #calls = new Map<ServerHttp2Stream, number>();
  /** The open streams of streaming calls, each with the time at which it is reset; `Infinity` if its request is complete. */
  readonly #streamingCalls = new Map<ServerHttp2Stream, number>();
  readonly #onStreamClosed: (this: ServerHttp2Stream) => void;
  #acknowledged = false;
  readonly #beganAt: number;
  /** When `endOverdue` last saw that the client had been active. */
  #activeAt: number;
  #clientActive = false;
  /** The most unary calls at work at once since `look` was last called. */
  #mostAtWork = 0;
  /** How many unary calls had waited for the client since before `look` was last called. */
  #waitingForClient = 0;
  #lookedAt = -Infinity;
  /** When `look` last saw that more than a few unary calls had been at work at once. */
  #busyAt = -Infinity;
  /** The number of streams that the client may have open, as last announced. */
  #announced: number;
  /** When the connection was first seen without streams after GOAWAY. */
  #emptyAt: number | undefined;

  constructor(
    socket: Socket,
    limits: ConnectionsOptions,
    ended: EndedSessions,
    streamCount: StreamCount,
    now: number,
  ) {
    this.#socket = socket;
    this.#options = limits;
    this.#ended = ended;
    this.#streamCount = streamCount;
    this.#beganAt = now;
    this.#activeAt = now;
    this.#announced = limits.maxStreams;
    const [calls, streamingCalls] = [this.#calls, this.#streamingCalls];
    const onActivity = this.#onActivity;
    // One listener for all streams: a closure for each would cost more than all other bookkeeping.
    this.#onStreamClosed = function onStreamClosed(this: ServerHttp2Stream): void {
      if (!calls.delete(this)) streamingCalls.delete(this);
      streamCount.remove();
      onActivity();
    };
  }

  readonly #onActivity = (): void => {
    this.#clientActive = true;
  };

  readonly #onSettings = (): void => {
    // The session's native object is current in its listeners, and the client's settings come before its first stream.
    this.#native = currentNativePart();
  };

  readonly #onAcknowledged = (): void => {
    this.#acknowledged = true;
  };

  /** @param share how many streams the client may have open */
  begin(session: ServerHttp2Session, share: number): void {
    this.#session = session;
    if (share < this.#announced) this.#announce(session, share);
    session
      .on('ping', this.#onActivity)
      .once('remoteSettings', this.#onSettings)
      .once('localSettings', this.#onAcknowledged);
  }

  /**
   * Releases the session after its socket has closed. Node keeps a session that ended with unacknowledged settings for
   * as long as its listeners reference, even indirectly, the error of its socket.
   */
  release(): void {
    this.#session
      ?.off('ping', this.#onActivity)
      .off('remoteSettings', this.#onSettings)
      .off('localSettings', this.#onAcknowledged);
    this.#session = undefined;
    if (this.#native !== undefined) this.#ended.keep(this.#native);
    this.#native = undefined;
  }

  /** Adds the stream of a unary call. */
  addCall(stream: ServerHttp2Stream, now: number): void {
    this.#calls.set(stream, now);
    this.#mostAtWork = Math.max(this.#mostAtWork, this.#calls.size - this.#waitingForClient);
    this.#count(stream);
  }

  /** Adds the stream of a streaming call, which is reset unless its request is complete within `limitMs`. */
  addStreamingCall(stream: ServerHttp2Stream, now: number, limitMs: number): void {
    this.#streamingCalls.set(stream, now + limitMs + this.#options.resetMs);
    this.#count(stream);
  }

  #count(stream: ServerHttp2Stream): void {
    this.#streamCount.add();
    stream.once('close', this.#onStreamClosed);
  }

  /** Whether the client has acknowledged the settings; Node enforces them only from then on. */
  get acknowledged(): boolean {
    return this.#acknowledged;
  }

  /** What the client has sent so far, in bytes. */
  get received(): number {
    return this.#socket.bytesRead;
  }

  /**
   * Looks at the unary calls since the previous look. Those that began before it and wait for their client have not been
   * at work.
   *
   * @returns undefined if none has been at work; else how many still are, and whether the connection is busy: it has
   *   had more than a few at once, or as many as it may have
   */
  look(now: number): { readonly busy: boolean; readonly atWork: number } | undefined {
    let waiting = 0;
    let waitingSince = 0;
    for (const [stream, began] of this.#calls) {
      if (!waitsForClient(stream)) continue;
      waiting += 1;
      if (began < this.#lookedAt) waitingSince += 1;
    }
    const open = this.#calls.size;
    const most = Math.max(this.#mostAtWork, open - waitingSince);
    if (most > FEW_CALLS) this.#busyAt = now;
    this.#lookedAt = now;
    this.#waitingForClient = waitingSince;
    this.#mostAtWork = open - waiting;
    const busy = most >= this.#announced || now - this.#busyAt < BUSY_MS;
    return most > 0 || busy ? { busy, atWork: open - waiting } : undefined;
  }

  /**
   * Announces to the client how many streams it may have open, if that has changed.
   *
   * @returns whether the client has been told; if not, try again later
   */
  setMaxConcurrentStreams(share: number): boolean {
    const session = this.#session;
    if (share === this.#announced) return true;
    if (session === undefined || session.closed || session.destroyed) return false;
    // Node ends a connection with too many unacknowledged settings.
    if (session.pendingSettingsAck) return false;
    this.#announce(session, share);
    return true;
  }

  /** Lowers the number of streams that the client may have open to `most`, if it is higher. */
  limitStreams(most: number): void {
    if (this.#announced > most) this.setMaxConcurrentStreams(most);
  }

  #announce(session: ServerHttp2Session, share: number): void {
    this.#announced = share;
    session.settings({ maxConcurrentStreams: share });
  }

  /** Resets overdue streams, and ends the connection if it is overdue. */
  endOverdue(now: number): void {
    const { deadlineMs, resetMs, grpcIdleMs, patienceMs } = this.#options;
    for (const [stream, began] of this.#calls) if (now - began >= deadlineMs + resetMs) this.#reset(stream);
    for (const [stream, resetAt] of this.#streamingCalls) {
      if (now < resetAt) continue;
      if (stream.readableEnded && !this.#hasGoneAway()) this.#streamingCalls.set(stream, Infinity);
      else this.#reset(stream);
    }
    if (this.#clientActive) {
      this.#clientActive = false;
      this.#activeAt = now;
    }
    if (!this.#acknowledged) {
      if (now - this.#beganAt >= Math.min(patienceMs, grpcIdleMs)) this.destroy();
    } else if (this.#calls.size === 0 && this.#streamingCalls.size === 0) {
      if (this.#hasGoneAway()) this.#destroyWhenLate(now);
      else if (now - this.#activeAt >= grpcIdleMs) this.#session?.close();
    }
  }

  /** Sends GOAWAY. Unary calls continue. Streaming calls, which the server has ended, are reset after `resetMs`. */
  goAway(now: number): void {
    for (const stream of this.#streamingCalls.keys())
      this.#streamingCalls.set(stream, now + this.#options.resetMs);
    this.#session?.close();
  }

  /** Ends the connection and everything that is open on it. */
  destroy(): void {
    this.#socket.destroy();
  }

  #hasGoneAway(): boolean {
    return this.#session === undefined || this.#session.closed || this.#session.destroyed;
  }

  /** A client may leave a properly closed connection half-open. */
  #destroyWhenLate(now: number): void {
    this.#emptyAt ??= now;
    if (now - this.#emptyAt >= this.#options.patienceMs) this.destroy();
  }

  #reset(stream: ServerHttp2Stream): void {
    // An earlier reset could not be sent, so the connection is unusable.
    if (stream.closed) this.destroy();
    else stream.close(constants.NGHTTP2_CANCEL);
  }
}

/** Whether a unary call waits for the rest of its request, or for its client to read the response. */
function waitsForClient(stream: ServerHttp2Stream): boolean {
  return stream.headersSent || !stream.readableEnded;
}

/** The number of open streams on all connections. */
class StreamCount {
  #open = 0;
  /** Streams that closed in this turn of the event loop. They count until it ends, when Node frees their memory. */
  #closed = 0;

  get count(): number {
    return this.#open;
  }

  add(): void {
    this.#open += 1;
  }

  remove(): void {
    if (this.#closed === 0) setImmediate(this.#free);
    this.#closed += 1;
  }

  readonly #free = (): void => {
    this.#open -= this.#closed;
    this.#closed = 0;
  };
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
