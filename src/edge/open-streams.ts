import type { ServerHttp2Stream } from 'node:http2';

/** The streams that are open on all connections together. Times are in milliseconds on the same monotonic clock. */
export class OpenStreams {
  readonly #most: number;
  #count = 0;
  /** Those that have closed in this turn of the event loop, after which Node frees what they held. */
  #closed = 0;
  /** The streams that were answered while more than half of the most were open, oldest first, and when. */
  readonly #answered = new Map<ServerHttp2Stream, number>();

  constructor(most: number) {
    this.#most = most;
  }

  get full(): boolean {
    return this.#count >= this.#most;
  }

  get #excess(): number {
    return this.#count - this.#most / 2;
  }

  open(): void {
    this.#count += 1;
  }

  /** The call of a stream is over: the stream waits only for its client, to take the answer or to end the request. */
  answer(stream: ServerHttp2Stream, now: number): void {
    // Nothing follows the end of a stream that would take it out again.
    if (this.#excess > 0 && !stream.destroyed) this.#answered.set(stream, now);
  }

  close(stream: ServerHttp2Stream): void {
    this.#answered.delete(stream);
    if (this.#closed === 0) setImmediate(this.#free);
    this.#closed += 1;
  }

  readonly #free = (): void => {
    this.#count -= this.#closed;
    this.#closed = 0;
  };

  /** The streams that have waited longest for their clients, as many as are open beyond half of the most. */
  stuck(answeredBefore: number): ServerHttp2Stream[] {
    const oldest: ServerHttp2Stream[] = [];
    for (const [stream, at] of this.#answered) {
      if (oldest.length >= this.#excess || at >= answeredBefore) break;
      oldest.push(stream);
    }
    return oldest;
  }
}
