import { deadlineExceeded, type Failure, overloaded, shuttingDown } from '../failures/failure.js';
import type { UnaryCall } from '../upstream.js';
import type { Exchange } from './exchange.js';

type Cancellation = UnaryCall['cancellation'];

/** How long a client may take to read the end of an aborted stream, in milliseconds. */
const LAST_PIECE_MS = 1_000;

/** The longest delay of a Node timer, in milliseconds: 24.8 days. With a longer one, it would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const ignore = (): void => undefined;

/** A request for a stream, until its response has ended. A call that is still running then is cancelled. */
export class OpenStream implements Cancellation {
  /** Whether the response has ended. */
  cancelled = false;
  /** Why the stream was aborted; undefined if it was not. */
  failure: Failure | undefined;
  readonly #exchange: Exchange;
  readonly #leave: (stream: OpenStream) => void;
  #cancel = ignore;
  #wake = ignore;
  #limit: NodeJS.Timeout | undefined;
  #cut: NodeJS.Timeout | undefined;

  /** @param leave called when the response has ended. */
  constructor(exchange: Exchange, leave: (stream: OpenStream) => void) {
    this.#exchange = exchange;
    this.#leave = leave;
    exchange.whenOver(this.#over);
  }

  onCancelled(listener: () => void): void {
    this.#cancel = listener;
  }

  /** Calls the listener when the stream is aborted or the response has ended. */
  whenEnding(listener: () => void): void {
    this.#wake = listener;
  }

  /**
   * Aborts the stream with `DEADLINE_EXCEEDED` after some time.
   *
   * @param ms in milliseconds; never if it is more than the longest delay of a timer, such as `Infinity`
   */
  limit(ms: number): void {
    if (ms > LONGEST_TIMER_MS) return;
    this.#limit = setTimeout(() => {
      this.breakOff(deadlineExceeded());
    }, ms);
  }

  /** Aborts the stream. A client that does not read its end within a second is disconnected. */
  breakOff(failure: Failure): void {
    this.failure ??= failure;
    // The response may be queued behind an earlier one, and have no socket yet.
    this.#cut ??= setTimeout(() => this.#exchange.request.socket.destroy(), LAST_PIECE_MS);
    this.#wake();
  }

  readonly #over = (): void => {
    this.cancelled = true;
    clearTimeout(this.#limit);
    clearTimeout(this.#cut);
    this.#leave(this);
    this.#cancel();
    this.#wake();
  };
}

/** The open streams. */
export class OpenStreams {
  readonly #most: number;
  readonly #open = new Set<OpenStream>();
  #ended = false;

  /** @param most the maximum number of open streams. */
  constructor(most: number) {
    this.#most = most;
  }

  /** @throws Failure `OVERLOADED` or `SHUTTING_DOWN` */
  open(exchange: Exchange): OpenStream {
    if (this.#ended) throw shuttingDown();
    if (this.#open.size >= this.#most) throw overloaded(`It has ${this.#most} streams under way.`);
    const stream = new OpenStream(exchange, (over) => this.#open.delete(over));
    if (!stream.cancelled) this.#open.add(stream);
    return stream;
  }

  /** Aborts all streams, and refuses all later ones. */
  end(): void {
    this.#ended = true;
    for (const stream of this.#open) stream.breakOff(shuttingDown());
  }
}
