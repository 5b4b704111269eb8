import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { type EndedSessions, nativePart } from './ended-sessions.js';

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
  #session: ServerHttp2Session | undefined;
  #native: object | undefined;
  /** The open streams of unary and of streaming calls, each with the time until which it may be open. */
  readonly #calls = new Map<ServerHttp2Stream, number>();
  readonly #streamingCalls = new Map<ServerHttp2Stream, number>();
  readonly #forget: (this: ServerHttp2Stream) => void;
  /** Whether the client has acknowledged the settings, which Node enforces only then. */
  #agreed = false;
  readonly #beganAt: number;
  /** When an inspection last saw a sign of life from the client. */
  #heardAt: number;
  #heard = false;
  #openedCall = false;
  #toldShare: number;
  #leaves = false;
  /** When this connection was first seen without streams after its end was announced. */
  #leftAt: number | undefined;

  constructor(socket: Socket, limits: ConnectionLimits, ended: EndedSessions, now: number) {
    this.#socket = socket;
    this.#limits = limits;
    this.#ended = ended;
    this.#beganAt = now;
    this.#heardAt = now;
    this.#toldShare = limits.maxStreams;
    const [calls, streamingCalls] = [this.#calls, this.#streamingCalls];
    const hear = this.#hear;
    // One listener for all streams: a closure for each would cost more than the rest.
    this.#forget = function forget(): void {
      if (!calls.delete(this)) streamingCalls.delete(this);
      hear();
    };
  }

  readonly #hear = (): void => {
    this.#heard = true;
  };

  readonly #greet = (): void => {
    // Captured before the first stream, when the client sends its settings.
    this.#native = nativePart();
  };

  readonly #agree = (): void => {
    this.#agreed = true;
  };

  /** @param share how many streams its client may have open */
  begin(session: ServerHttp2Session, share: number): void {
    this.#session = session;
    if (share < this.#toldShare) this.#tell(session, share);
    session.on('ping', this.#hear).once('remoteSettings', this.#greet).once('localSettings', this.#agree);
  }

  /**
   * Releases the session after its socket has closed. While anything leads from a session's listeners to the error of
   * its socket, Node keeps a session that ended with unanswered settings.
   */
  end(): void {
    this.#session
      ?.off('ping', this.#hear)
      .off('remoteSettings', this.#greet)
      .off('localSettings', this.#agree);
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
    stream.on('close', this.#forget);
    // In a later turn: closed in its own `stream` event, a session may corrupt the memory of Node 20.
    if (this.#leaves) setImmediate(this.#goAway);
  }

  /** Whether the client has acknowledged the settings. */
  get agreed(): boolean {
    return this.#agreed;
  }

  /** What the client has sent so far, in bytes. */
  get received(): number {
    return this.#socket.bytesRead;
  }

  /** Whether a unary call was open at any time since the last look. */
  wasBusy(): boolean {
    const was = this.#openedCall || this.#calls.size > 0;
    this.#openedCall = false;
    return was;
  }

  /**
   * Tells the client how many streams it may have open, if that has changed.
   *
   * @returns whether the client has been told
   */
  allow(share: number): boolean {
    const session = this.#session;
    if (share === this.#toldShare) return true;
    if (session === undefined || session.closed || session.destroyed) return false;
    // Node ends a connection with too many unanswered settings.
    if (session.pendingSettingsAck) return false;
    this.#tell(session, share);
    return true;
  }

  #tell(session: ServerHttp2Session, share: number): void {
    this.#toldShare = share;
    session.settings({ maxConcurrentStreams: share });
  }

  /** Ends everything that has lasted too long. */
  inspect(now: number): void {
    for (const streams of [this.#calls, this.#streamingCalls]) {
      for (const [stream, until] of streams) if (now >= until) this.#reset(stream);
    }
    if (this.#heard) {
      this.#heard = false;
      this.#heardAt = now;
    }
    const { grpcIdleMs, patienceMs } = this.#limits;
    const silentMs = now - this.#heardAt;
    if (!this.#agreed) {
      if (now - this.#beganAt >= Math.min(patienceMs, grpcIdleMs)) this.cut();
    } else if (this.#calls.size === 0 && this.#streamingCalls.size === 0) {
      if (this.#isLeaving()) this.#cutWhenLate(now);
      else if (silentMs >= grpcIdleMs) this.#goAway();
    }
  }

  /**
   * Announces the end of the connection: at once if it has calls, so that its client sees GOAWAY before the answers. On
   * a busy connection between two calls, the next call may be on its way and would be lost, so its end is announced
   * with that call.
   *
   * @returns whether the connection still waits for that call, or for its socket to close
   */
  leave(betweenCalls: boolean): boolean {
    this.#leaves = true;
    // grpc-js would wait for ever for a session that it closes after its end, but before its last event.
    if (this.#session?.destroyed === true) {
      this.cut();
      return true;
    }
    const waits = betweenCalls && this.#calls.size === 0;
    if (!waits) this.#goAway();
    return waits && !this.#isLeaving();
  }

  /** Ends the connection and everything that is open on it. */
  cut(): void {
    this.#socket.destroy();
  }

  #isLeaving(): boolean {
    return this.#session === undefined || this.#session.closed || this.#session.destroyed;
  }

  readonly #goAway = (): void => {
    this.#session?.close();
  };

  /** A client may leave a properly closed connection half-open. */
  #cutWhenLate(now: number): void {
    this.#leftAt ??= now;
    if (now - this.#leftAt >= this.#limits.patienceMs) this.cut();
  }

  #reset(stream: ServerHttp2Stream): void {
    // A stream that outlives its reset cannot reach its client.
    if (stream.closed) this.cut();
    else stream.close(constants.NGHTTP2_CANCEL);
  }
}
