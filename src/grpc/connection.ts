import { executionAsyncResource } from 'node:async_hooks';
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Limits } from '../settings/config.js';

/** With more unary calls at work at once than this, a connection is busy. */
const FEW_CALLS = 2;
/** How long a busy connection stays busy, in milliseconds: longer than the pauses of a caller that works in bursts. */
const BUSY_MS = 1_000;

/** Times that are not configurable, in milliseconds. */
export interface ConnectionTimes {
  /** How long a client may take to acknowledge the server's settings, and a closed connection to disappear. */
  readonly patienceMs: number;
  /** How long a stream may stay open beyond the time limit of its call. */
  readonly resetMs: number;
  /** The interval between checks of the connections. */
  readonly checkMs: number;
}

/** The limits of one connection. */
export interface ConnectionLimits
  extends
    Pick<ConnectionTimes, 'patienceMs' | 'resetMs'>,
    Pick<Limits, 'maxStreams' | 'grpcIdleMs' | 'deadlineMs'> {}

/** The unary calls of a connection since the previous sample. */
interface CallSample {
  /** Whether it has had more than a few at work at once, or as many as it may have, now or a moment ago. */
  readonly busy: boolean;
  /** How many are at work now. */
  readonly atWork: number;
}

let connections = 0;

/** One HTTP/2 connection and its open streams. Every time is in milliseconds on the same monotonic clock. */
export class Connection {
  /** No other connection of the process has the same. */
  readonly id = String(++connections);
  readonly #limits: ConnectionLimits;
  readonly #socket: Socket;
  readonly #streamCount: StreamCount;
  #session: ServerHttp2Session | undefined;
  /** The session's native object, held and never read: Node must not free it before those of its streams (decision 35). */
  native: object | undefined;
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
  /** The most unary calls at work at once since the last sample. */
  #mostAtWork = 0;
  /** How many unary calls had waited for the client for a whole interval between samples, at the last sample. */
  #waitingForClient = 0;
  #sampledAt = -Infinity;
  /** When a sample last found that more than a few unary calls had been at work at once. */
  #busyAt = -Infinity;
  /** The number of streams that the client may have open, as last announced. */
  #announced: number;
  /** When the connection was first seen without streams after GOAWAY. */
  #emptyAt: number | undefined;

  constructor(socket: Socket, limits: ConnectionLimits, streamCount: StreamCount, now: number) {
    this.#socket = socket;
    this.#limits = limits;
    this.#streamCount = streamCount;
    this.#beganAt = now;
    this.#activeAt = now;
    this.#announced = limits.maxStreams;
    const [calls, streamingCalls, onActivity] = [this.#calls, this.#streamingCalls, this.#onActivity];
    // One listener for all streams: a closure for each stream would cost more than all other bookkeeping.
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
    // Node runs listeners with the native object as the async resource; these settings come before the first stream.
    this.native = executionAsyncResource();
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
  releaseSession(): void {
    this.#session
      ?.off('ping', this.#onActivity)
      .off('remoteSettings', this.#onSettings)
      .off('localSettings', this.#onAcknowledged);
    this.#session = undefined;
    this.native = undefined;
  }

  /** Adds the stream of a unary call. */
  addCall(stream: ServerHttp2Stream, now: number): void {
    this.#calls.set(stream, now);
    this.#mostAtWork = Math.max(this.#mostAtWork, this.#calls.size - this.#waitingForClient);
    this.#count(stream);
  }

  /** Adds the stream of a streaming call, which is reset unless its request is complete within `limitMs`. */
  addStreamingCall(stream: ServerHttp2Stream, now: number, limitMs: number): void {
    this.#streamingCalls.set(stream, now + limitMs + this.#limits.resetMs);
    this.#count(stream);
  }

  #count(stream: ServerHttp2Stream): void {
    this.#streamCount.add();
    stream.once('close', this.#onStreamClosed);
  }

  /**
   * Samples the activity of unary calls since the previous sample. A call is at work unless it waits for its client; a
   * call that began before the previous sample and waits now has not been at work since.
   *
   * @returns undefined if no call has been at work
   */
  sampleCalls(now: number): CallSample | undefined {
    let waiting = 0;
    let longWaiting = 0;
    for (const [stream, began] of this.#calls) {
      if (!waitsForClient(stream)) continue;
      waiting += 1;
      if (began < this.#sampledAt) longWaiting += 1;
    }

    const open = this.#calls.size;
    const most = Math.max(this.#mostAtWork, open - longWaiting);
    if (most > FEW_CALLS) this.#busyAt = now;

    this.#sampledAt = now;
    this.#waitingForClient = longWaiting;
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
  lowerMaxConcurrentStreams(most: number): void {
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
      this.#streamingCalls.set(stream, now + this.#limits.resetMs);
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

/** The number of open streams on all connections. */
export class StreamCount {
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

/** Whether a unary call waits for the rest of its request, or for its client to read the response. */
function waitsForClient(stream: ServerHttp2Stream): boolean {
  return stream.headersSent || !stream.readableEnded;
}
