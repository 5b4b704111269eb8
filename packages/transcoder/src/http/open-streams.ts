import { deadlineExceeded, type Failure, overloaded, shuttingDown } from '../failures/failure.js';
import type { UnaryCall } from '../upstream.js';
import type { Exchange } from './exchange.js';

type Cancellation = UnaryCall['cancellation'];

/** How long a client may take for the end of a stream that is broken off, in milliseconds. */
const LAST_PIECE_MS = 1_000;

/** Node's timers run off at once if they are set to more, in milliseconds: 24.8 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const ignore = (): void => undefined;

/** A request for a stream of messages, until its response is over. Its call, if it still runs, is cancelled then. */
export class OpenStream implements Cancellation {
  /** Whether the response is over. */
  cancelled = false;
  /** Why the stream is broken off, if it is. */
  failure: Failure | undefined;
  readonly #exchange: Exchange;
  readonly #leave: (stream: OpenStream) => void;
  #cancel = ignore;
  #wake = ignore;
  #limit: NodeJS.Timeout | undefined;
  #cut: NodeJS.Timeout | undefined;

  /** @param leave called when the response is over. */
  constructor(exchange: Exchange, leave: (stream: OpenStream) => void) {
    this.#exchange = exchange;
    this.#leave = leave;
    exchange.whenOver(this.#over);
  }

  onCancelled(listener: () => void): void {
    this.#cancel = listener;
  }

  /** Calls the listener when the stream is broken off or over. */
  whenEnding(listener: () => void): void {
    this.#wake = listener;
  }

  /** Breaks it off with `DEADLINE_EXCEEDED` after some time. @param ms in milliseconds; `Infinity` for never */
  limit(ms: number): void {
    if (ms > LONGEST_TIMER_MS) return;
    this.#limit = setTimeout(() => {
      this.breakOff(deadlineExceeded());
    }, ms);
  }

  /** Breaks it off. A client that does not take its end within a second is cut off. */
  breakOff(failure: Failure): void {
    this.failure ??= failure;
    // The response may wait for an earlier one, and have no connection yet.
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

/** The streams that are under way. */
export class OpenStreams {
  readonly #most: number;
  readonly #open = new Set<OpenStream>();
  #ended = false;

  /** @param most the most at a time. */
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

  /** Breaks off all streams, and refuses all later ones. */
  end(): void {
    this.#ended = true;
    for (const stream of this.#open) stream.breakOff(shuttingDown());
  }
}
