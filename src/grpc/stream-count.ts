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
