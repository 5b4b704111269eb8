import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { type EndedSessions, currentNativePart } from './ended-sessions.js';
import type { OpenStreams } from './open-streams.js';

/** With more unary calls at work at once than this, a connection is busy. */
const FEW_CALLS = 2;
/** How long such a connection stays busy, in milliseconds: longer than the pauses of a caller that works in bursts. */
const BUSY_MS = 1_000;

/** Limits of a connection; times are in milliseconds. */
export interface ConnectionLimits {
  /** The most streams that a client may have open. */
  readonly maxStreams: number;
  /** How long a connection without streams may stay silent. */
  readonly grpcIdleMs: number;
  /** How long a client may take to acknowledge the settings, and a closed connection to disappear. */
  readonly patienceMs: number;
  /** The time limit of a unary call. */
  readonly deadlineMs: number;
  /** How long a stream may stay open beyond its time limit. */
  readonly resetMs: number;
}

/** A stream that waits for its client, and the time at which it began. */
export interface WaitingStream {
  readonly connection: Http2Connection;
  readonly stream: ServerHttp2Stream;
  readonly began: number;
}

/** When a streaming call began, and when its stream is reset; `Infinity` if its request is complete. */
interface StreamingTimes {
  readonly began: number;
  resetAt: number;
}

/** One HTTP/2 connection and its open streams. Every time is in milliseconds on the same monotonic clock. */
export class Http2Connection {
  readonly #limits: ConnectionLimits;
  readonly #socket: Socket;
  readonly #ended: EndedSessions;
  readonly #openStreams: OpenStreams;
  #session: ServerHttp2Session | undefined;
  /** The session's native object, which must outlive the session. */
  #native: object | undefined;
  /** The open streams of unary calls, each with the time at which it began. */
  readonly #calls = new Map<ServerHttp2Stream, number>();
  /** The open streams of streaming calls. */
  readonly #streamingCalls = new Map<ServerHttp2Stream, StreamingTimes>();
  readonly #onStreamClosed: (this: ServerHttp2Stream) => void;
  #acknowledged = false;
  readonly #beganAt: number;
  /** When `endOverdue` last saw that the client had been active. */
  #activeAt: number;
  #active = false;
  /** The most unary calls at work at once since `look` was last called. */
  #mostAtWork = 0;
  /** How many unary calls waited for the client when `look` was last called. */
  #waitingForClient = 0;
  /** When `look` last saw that more than a few unary calls had been at work at once. */
  #busyAt = -Infinity;
  /** The number of streams that the client may have open, as last announced. */
  #announced: number;
  /** When the connection was first seen without streams after GOAWAY. */
  #emptyAt: number | undefined;

  constructor(
    socket: Socket,
    limits: ConnectionLimits,
    ended: EndedSessions,
    openStreams: OpenStreams,
    now: number,
  ) {
    this.#socket = socket;
    this.#limits = limits;
    this.#ended = ended;
    this.#openStreams = openStreams;
    this.#beganAt = now;
    this.#activeAt = now;
    this.#announced = limits.maxStreams;
    const [calls, streamingCalls] = [this.#calls, this.#streamingCalls];
    const onActivity = this.#onActivity;
    // One listener for all streams: a closure for each would cost more than all other bookkeeping.
    this.#onStreamClosed = function onStreamClosed(this: ServerHttp2Stream): void {
      if (!calls.delete(this)) streamingCalls.delete(this);
      openStreams.remove();
      onActivity();
    };
  }

  readonly #onActivity = (): void => {
    this.#active = true;
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
  end(): void {
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
    this.#streamingCalls.set(stream, { began: now, resetAt: now + limitMs + this.#limits.resetMs });
    this.#count(stream);
  }

  #count(stream: ServerHttp2Stream): void {
    this.#openStreams.add();
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

  /** The streams that wait for the client and began before this time. */
  waiting(before: number): WaitingStream[] {
    const streaming = [...this.#streamingCalls].map(([stream, { began }]) => [stream, began] as const);
    return [...this.#calls, ...streaming]
      .filter(([stream, began]) => began < before && this.waitsForClient(stream))
      .map(([stream, began]) => ({ connection: this, stream, began }));
  }

  /**
   * Whether a stream waits for the rest of its request, or for the client to read the rest of a complete response. A
   * streaming call that is still responding does not.
   */
  waitsForClient(stream: ServerHttp2Stream): boolean {
    if (stream.headersSent) return this.#calls.has(stream) || stream.writableEnded;
    return !stream.readableEnded;
  }

  /**
   * Looks at the unary calls since the previous look. Calls that wait for their client are not at work.
   *
   * @returns undefined if none has been at work; else how many still are, and whether the connection is busy: it has
   *   had more than a few at once, or as many as it may have
   */
  look(now: number): { readonly busy: boolean; readonly atWork: number } | undefined {
    const most = this.#mostAtWork;
    if (most > FEW_CALLS) this.#busyAt = now;
    this.#waitingForClient = 0;
    for (const stream of this.#calls.keys()) if (this.waitsForClient(stream)) this.#waitingForClient += 1;
    const atWork = this.#calls.size - this.#waitingForClient;
    this.#mostAtWork = atWork;
    const busy = most >= this.#announced || now - this.#busyAt < BUSY_MS;
    return most > 0 || busy ? { busy, atWork } : undefined;
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
    const { deadlineMs, resetMs, grpcIdleMs, patienceMs } = this.#limits;
    for (const [stream, began] of this.#calls) if (now - began >= deadlineMs + resetMs) this.#reset(stream);
    for (const [stream, times] of this.#streamingCalls) {
      if (now < times.resetAt) continue;
      if (stream.readableEnded && !this.#hasGoneAway()) times.resetAt = Infinity;
      else this.#reset(stream);
    }
    if (this.#active) {
      this.#active = false;
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
    for (const times of this.#streamingCalls.values()) times.resetAt = now + this.#limits.resetMs;
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
    if (now - this.#emptyAt >= this.#limits.patienceMs) this.destroy();
  }

  #reset(stream: ServerHttp2Stream): void {
    // An earlier reset could not be sent, so the connection is unusable.
    if (stream.closed) this.destroy();
    else stream.close(constants.NGHTTP2_CANCEL);
  }
}
