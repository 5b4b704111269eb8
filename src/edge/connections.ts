import {
  constants,
  type Http2Server,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Server as TlsServer } from 'node:tls';
import { HEAD_MAX_BYTES, isTooLong } from './head-limit.js';
import { OpenSockets } from './open-sockets.js';
import { Connection, type ConnectionLimits } from './connection.js';
import { EndedSessions } from './ended-sessions.js';
import { OpenStreams } from './open-streams.js';
import { StreamShare } from './stream-share.js';

/** How many checks of the busy connections come between two of every connection. */
const CHECKS_PER_SWEEP = 10;
/** How long the server waits, when it closes, for the next call of a busy connection, in milliseconds. */
const NEXT_CALL_MS = 250;
const NEXT_CALL_STEP_MS = 10;
/** How many times more streams all connections may open together than may be open: few of them are busy at once. */
const OVERBOOKED = 3;
/** The errors for which a session is ended; others are those of sockets, and ends by the client. */
const CLIENT_ERRORS: ReadonlySet<string | undefined> = new Set([
  'ERR_HTTP2_ERROR',
  'ERR_HTTP2_TOO_MANY_INVALID_FRAMES',
]);
/** The part of all connections that may send long headers before they acknowledge the settings, which limit those. */
const UNACKNOWLEDGED_PART = 1 / 8;

/** Limits of all connections; times are in milliseconds. */
interface ConnectionsOptions extends ConnectionLimits {
  readonly maxConnections: number;
  /** The streams that the busy connections share. */
  readonly sharedStreams: number;
  /** The most streams of all connections. */
  readonly mostStreams: number;
  /** The time limit of a unary call. */
  readonly deadlineMs: number;
  /** How long a stream may stay open after its limit, or after an answer. */
  readonly unreadMs: number;
  readonly checkMs: number;
  /**
   * Called with each stream and its headers, before grpc-js creates its call.
   *
   * @returns the time limit of a streaming call; undefined for a unary one
   */
  readonly onStream: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => number | undefined;
  /** Called with the reason when the server ends a connection for an error of its client. Default: not at all. */
  readonly onError?: ((reason: string) => void) | undefined;
}

/** The arguments of Node's `stream` event; `rawHeaders` alternates names and values. */
export type StreamEvent = [
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: string[],
];

/** The connections of the gRPC server. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #listeners: Http2Server[] = [];
  readonly #open = new Set<Connection>();
  readonly #ended = new EndedSessions();
  readonly #sockets = new OpenSockets();
  #goingAway = false;
  readonly #ofSession = new Map<Http2Session | undefined, Connection>();
  /** Connections with a unary call since the last check. */
  readonly #busy = new Set<Connection>();
  readonly #share: StreamShare;
  readonly #streams: OpenStreams;
  /** Connections made since the last check, which have the share of new ones. */
  readonly #arrived = new Set<Connection>();
  /** Connections that had not acknowledged the settings at the last check, oldest first. */
  readonly #unacknowledged = new Set<Connection>();
  readonly #timer: NodeJS.Timeout;
  #now = clock();
  #checks = 0;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#share = new StreamShare(options.maxStreams, {
      busy: options.sharedStreams,
      open: OVERBOOKED * options.mostStreams,
    });
    this.#streams = new OpenStreams(options.mostStreams);
    this.#timer = setInterval(() => {
      this.#check();
    }, options.checkMs).unref();
  }

  /** Takes the connections of a listening server from now on. */
  attach(listener: Http2Server): void {
    this.#listeners.push(listener);
    listener.maxConnections = this.#options.maxConnections;
    listener.updateSettings({ maxHeaderListSize: HEAD_MAX_BYTES });
    this.#sockets.follow(listener);
    const secure = listener instanceof TlsServer;
    let arriving: Connection | undefined;
    // Node creates a connection's session in its own listener, so `session` comes before the next connection.
    listener.prependListener(secure ? 'secureConnection' : 'connection', (socket: Socket) => {
      const connection = new Connection(socket, this.#options, this.#ended, this.#streams, this.#now);
      arriving = connection;
      this.#open.add(connection);
      this.#unacknowledged.add(connection);
      socket.once('close', () => {
        this.#open.delete(connection);
        this.#busy.delete(connection);
        this.#arrived.delete(connection);
        this.#unacknowledged.delete(connection);
        connection.end();
        this.#endHandshakes();
      });
    });
    listener.prependListener('session', (session) => {
      if (arriving === undefined) return;
      // Many connections that arrive at once may all become busy before the next check.
      this.#arrived.add(arriving);
      arriving.begin(session, this.#share.ofNew(this.#busy.size + this.#arrived.size, this.#open.size));
      this.#ofSession.set(session, arriving);
      // Its handshake ended after the other connections were told to end.
      if (this.#goingAway) arriving.goAway(false);
      session.once('close', () => this.#ofSession.delete(session));
    });
    listener.on('sessionError', (error: NodeJS.ErrnoException) => {
      if (CLIENT_ERRORS.has(error.code)) this.#options.onError?.(error.message);
    });
    listener.prependListener('stream', (...[stream, headers, , rawHeaders]: StreamEvent) => {
      const { deadlineMs, unreadMs, onStream } = this.#options;
      const connection = this.#ofSession.get(stream.session);
      if (this.#streams.full) {
        stream.close(constants.NGHTTP2_REFUSED_STREAM);
        return;
      }
      const longestMs = onStream(stream, headers);
      if (longestMs !== undefined) {
        connection?.openStreamingCall(stream, this.#now + longestMs + unreadMs);
      } else if (connection !== undefined) {
        connection.openCall(stream, this.#now + deadlineMs + unreadMs);
        this.#busy.add(connection);
      }
      if (isTooLong(rawHeaders)) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    });
  }

  /** Notes that the call of a stream is over. */
  answer(stream: ServerHttp2Stream): void {
    this.#streams.answer(stream, this.#now);
  }

  /** Accepts no more connections and announces the end of the open ones; their calls go on. */
  async goAway(): Promise<void> {
    clearInterval(this.#timer);
    this.#goingAway = true;
    // `listener.close()` would also close every session at once, from Node 24 on.
    for (const listener of this.#listeners) NetServer.prototype.close.call(listener);
    const waiting = (): boolean =>
      [...this.#open].filter((connection) => connection.goAway(this.#busy.has(connection))).length > 0;
    for (let waited = 0; waiting() && waited < NEXT_CALL_MS; waited += NEXT_CALL_STEP_MS) {
      await delay(NEXT_CALL_STEP_MS);
    }
    this.#endHandshakes();
  }

  /** Ends every connection and everything that is open on it. */
  destroy(): void {
    for (const connection of this.#open) connection.destroy();
    this.#sockets.destroy();
  }

  /** Ends unfinished handshakes once nothing else is open; until then, Node limits their time. */
  #endHandshakes(): void {
    if (this.#goingAway && this.#open.size === 0) this.#sockets.destroy();
  }

  #check(): void {
    // Streams that wait only for their clients make room for calls. Answers of the last moment may be on their way.
    for (const stream of this.#streams.stuck(this.#now)) stream.close(constants.NGHTTP2_CANCEL);
    this.#now = clock();
    for (const connection of this.#busy) if (!connection.wasBusy()) this.#busy.delete(connection);
    const share = this.#share.among(this.#busy.size, this.#open.size);
    const most = this.#share.ofIdle(this.#open.size);
    if (most < this.#options.maxStreams) for (const connection of this.#open) connection.limitStreams(most);
    for (const connection of this.#busy) connection.setMaxConcurrentStreams(share);
    for (const connection of this.#arrived)
      if (connection.setMaxConcurrentStreams(share)) this.#arrived.delete(connection);
    this.#endUnacknowledged();
    this.#checks = (this.#checks + 1) % CHECKS_PER_SWEEP;
    if (this.#checks === 0) for (const connection of this.#open) connection.endOverdue(this.#now);
  }

  /** Headers that never end take 20 times as much memory as others from a client that has not acknowledged the settings. */
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

/** Whole milliseconds, which cost no allocation. */
function clock(): number {
  return Math.round(performance.now());
}
