import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { type EndedSessions, nativePart } from './ended-sessions.js';
import type { OpenStreams } from './open-streams.js';

/** Limits of a connection; times are in milliseconds. */
export interface ConnectionLimits {
  readonly maxStreams: number;
  readonly grpcIdleMs: number;
  readonly patienceMs: number;
}

/** One connection and its open streams. Every `now` is in milliseconds on the same monotonic clock. */
export class Connection {
  readonly #limits: ConnectionLimits;
  readonly #socket: Socket;
  readonly #ended: EndedSessions;
  readonly #openStreams: OpenStreams;
  #session: ServerHttp2Session | undefined;
  #native: object | undefined;
  /** The open streams of unary and of streaming calls, each with the time until which it may be open. */
  readonly #calls = new Map<ServerHttp2Stream, number>();
  readonly #streamingCalls = new Map<ServerHttp2Stream, number>();
  readonly #forget: (this: ServerHttp2Stream) => void;
  /** Whether the client has acknowledged the settings, which Node enforces only then. */
  #acknowledged = false;
  readonly #beganAt: number;
  /** When `endOverdue` last saw that the client had been active. */
  #activeAt: number;
  #active = false;
  #openedCall = false;
  /** The streams that its client may have open, as last announced. */
  #announced: number;
  #goingAway = false;
  /** When this connection was first seen without streams after its end was announced. */
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
    // One listener for all streams: a closure for each would cost more than the rest.
    this.#forget = function forget(): void {
      if (!calls.delete(this)) streamingCalls.delete(this);
      openStreams.close(this);
      onActivity();
    };
  }

  readonly #onActivity = (): void => {
    this.#active = true;
  };

  readonly #onSettings = (): void => {
    // Captured before the first stream, when the client sends its settings.
    this.#native = nativePart();
  };

  readonly #onAcknowledged = (): void => {
    this.#acknowledged = true;
  };

  /** @param share how many streams its client may have open */
  begin(session: ServerHttp2Session, share: number): void {
    this.#session = session;
    if (share < this.#announced) this.#announce(session, share);
    session
      .on('ping', this.#onActivity)
      .once('remoteSettings', this.#onSettings)
      .once('localSettings', this.#onAcknowledged);
  }

  /**
   * Releases the session after its socket has closed. While anything leads from a session's listeners to the error of
   * its socket, Node keeps a session that ended with unanswered settings.
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

  openCall(stream: ServerHttp2Stream, until: number): void {
    this.#openedCall = true;
    this.#open(this.#calls, stream, until);
  }

  openStreamingCall(stream: ServerHttp2Stream, until: number): void {
    this.#open(this.#streamingCalls, stream, until);
  }

  #open(streams: Map<ServerHttp2Stream, number>, stream: ServerHttp2Stream, until: number): void {
    streams.set(stream, until);
    this.#openStreams.open();
    stream.on('close', this.#forget);
    // In a later turn: closed in its own `stream` event, a session may corrupt the memory of Node 20.
    if (this.#goingAway) setImmediate(this.#sendGoAway);
  }

  /** Whether the client has acknowledged the settings. */
  get acknowledged(): boolean {
    return this.#acknowledged;
  }

  /** What the client has sent so far, in bytes. */
  get received(): number {
    return this.#socket.bytesRead;
  }

  /** Whether a unary call was open at any time since the last time that this was asked. */
  wasBusy(): boolean {
    const was = this.#openedCall || this.#calls.size > 0;
    this.#openedCall = false;
    return was;
  }

  /**
   * Tells the client how many streams it may have open, if that has changed.
   *
   * @returns whether its client knows
   */
  setMaxConcurrentStreams(share: number): boolean {
    const session = this.#session;
    if (share === this.#announced) return true;
    if (session === undefined || session.closed || session.destroyed) return false;
    // Node ends a connection with too many unanswered settings.
    if (session.pendingSettingsAck) return false;
    this.#announce(session, share);
    return true;
  }

  /** Tells the client that it may have no more streams open than these. */
  limitStreams(most: number): void {
    if (this.#announced > most) this.setMaxConcurrentStreams(most);
  }

  #announce(session: ServerHttp2Session, share: number): void {
    this.#announced = share;
    session.settings({ maxConcurrentStreams: share });
  }

  /** Ends everything that has lasted too long. */
  endOverdue(now: number): void {
    for (const streams of [this.#calls, this.#streamingCalls]) {
      for (const [stream, until] of streams) if (now >= until) this.#reset(stream);
    }
    if (this.#active) {
      this.#active = false;
      this.#activeAt = now;
    }
    const { grpcIdleMs, patienceMs } = this.#limits;
    const inactiveMs = now - this.#activeAt;
    if (!this.#acknowledged) {
      if (now - this.#beganAt >= Math.min(patienceMs, grpcIdleMs)) this.destroy();
    } else if (this.#calls.size === 0 && this.#streamingCalls.size === 0) {
      if (this.#hasGoneAway()) this.#destroyWhenLate(now);
      else if (inactiveMs >= grpcIdleMs) this.#sendGoAway();
    }
  }

  /**
   * Announces the end of the connection: at once if it has calls, so that its client sees GOAWAY before the answers. On
   * a busy connection between two calls, the next call may be on its way and would be lost, so its end is announced
   * with that call.
   *
   * @returns whether the connection still waits for that call, or for its socket to close
   */
  goAway(betweenCalls: boolean): boolean {
    this.#goingAway = true;
    // grpc-js would wait for ever for a session that it closes after its end, but before its last event.
    if (this.#session?.destroyed === true) {
      this.destroy();
      return true;
    }
    const waits = betweenCalls && this.#calls.size === 0;
    if (!waits) this.#sendGoAway();
    return waits && !this.#hasGoneAway();
  }

  /** Ends the connection and everything that is open on it. */
  destroy(): void {
    this.#socket.destroy();
  }

  #hasGoneAway(): boolean {
    return this.#session === undefined || this.#session.closed || this.#session.destroyed;
  }

  readonly #sendGoAway = (): void => {
    this.#session?.close();
  };

  /** A client may leave a properly closed connection half-open. */
  #destroyWhenLate(now: number): void {
    this.#emptyAt ??= now;
    if (now - this.#emptyAt >= this.#limits.patienceMs) this.destroy();
  }

  #reset(stream: ServerHttp2Stream): void {
    // A stream that outlives its reset cannot reach its client.
    if (stream.closed) this.destroy();
    else stream.close(constants.NGHTTP2_CANCEL);
  }
}
