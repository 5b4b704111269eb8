import { deadlineExceeded, type HttpFailure, overloaded, shuttingDown } from '../failures/failure.js';
import { LONGEST_TIMER_MS } from '../timeouts.js';
import type { Cancellation } from '../upstream.js';
import type { Exchange } from './exchange.js';

/** How long a client may take to read the end of an aborted stream, in milliseconds. */
const LAST_PIECE_MS = 1_000;

const ignore = (): void => undefined;

/**
 * A request for a stream, until its response has closed, which cancels the call if it is still running. Until then, the
 * transcoder may abort the stream, so that the response ends with a failure.
 */
export class OpenStream implements Cancellation {
  /** Whether the response has closed. */
  cancelled = false;
  /** Why the stream was aborted; undefined if it was not. */
  abortFailure: HttpFailure | undefined;
  readonly #exchange: Exchange;
  readonly #openStreams: Set<OpenStream>;
  #cancelListener = ignore;
  #endListener = ignore;
  /** Aborts the stream at its time limit. */
  #abortTimer: NodeJS.Timeout | undefined;
  /** Disconnects a client that does not read the end of the aborted stream. */
  #disconnectTimer: NodeJS.Timeout | undefined;

  /** @param openStreams get this stream, until its response has closed. */
  constructor(exchange: Exchange, openStreams: Set<OpenStream>) {
    this.#exchange = exchange;
    this.#openStreams = openStreams;
    openStreams.add(this);
    exchange.onClose(this.#onClosed);
  }

  onCancelled(listener: () => void): void {
    this.#cancelListener = listener;
  }

  /** Sets the listener that is called when the stream is aborted or the response has closed. */
  onAbortedOrClosed(listener: () => void): void {
    this.#endListener = listener;
  }

  /**
   * Aborts the stream with `DEADLINE_EXCEEDED` after some time.
   *
   * @param ms in milliseconds; never if it is more than the longest delay of a timer, such as `Infinity`
   */
  abortAfter(ms: number): void {
    // The client may have disconnected before the upstream was called.
    if (this.cancelled || ms > LONGEST_TIMER_MS) return;
    this.#abortTimer = setTimeout(() => {
      this.abort(deadlineExceeded());
    }, ms);
  }

  /** Aborts the stream. A client that does not read its end within a second is disconnected. */
  abort(failure: HttpFailure): void {
    this.abortFailure ??= failure;
    // The socket of the request: a response that is queued behind an earlier one has none yet.
    this.#disconnectTimer ??= setTimeout(() => this.#exchange.request.socket.destroy(), LAST_PIECE_MS);
    this.#endListener();
  }

  readonly #onClosed = (): void => {
    this.cancelled = true;
    clearTimeout(this.#abortTimer);
    clearTimeout(this.#disconnectTimer);
    this.#openStreams.delete(this);
    // The listener is the upstream's: what it throws is logged.
    this.#exchange.notify(this.#cancelListener);
    this.#endListener();
  };
}

/** The open streams. */
export class OpenStreams {
  readonly #max: number;
  readonly #streams = new Set<OpenStream>();
  #isClosed = false;

  /** @param max the maximum number of open streams. */
  constructor(max: number) {
    this.#max = max;
  }

  /** @throws HttpFailure `OVERLOADED` or `SHUTTING_DOWN` */
  start(exchange: Exchange): OpenStream {
    if (this.#isClosed) throw shuttingDown();
    if (this.#streams.size >= this.#max) throw overloaded(`It has ${this.#max} streams under way.`);
    return new OpenStream(exchange, this.#streams);
  }

  /** Aborts all streams, and refuses all later ones. */
  close(): void {
    this.#isClosed = true;
    for (const stream of this.#streams) stream.abort(shuttingDown());
  }
}
