/** How many streams are open on all connections together. */
export class OpenStreams {
  #open = 0;
  /** Those that have closed in this turn of the event loop, after which Node frees what they held. */
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
