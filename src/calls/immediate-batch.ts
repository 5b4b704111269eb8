/**
 * Acts on the items of one turn of the event loop together, after all sockets of that turn have been read. Items added
 * while it acts are acted on in the same pass. A write between two reads wakes a peer that has just gone to sleep, and
 * evicts the reading code from the processor's caches: sent back to back, responses cost about half as much. With an
 * immediate for each item, promises would run between them, and a get would cost a sixth more.
 */
export class ImmediateBatch<Item> {
  readonly #act: (item: Item) => void;
  #due: Item[] = [];

  /** @param act called with each item; if it throws, the error is uncaught, but only after all items of the turn */
  constructor(act: (item: Item) => void) {
    this.#act = act;
  }

  add(item: Item): void {
    const due = this.#due.push(item);
    // The first item has set the immediate for all.
    if (due > 1) return;

    setImmediate(() => {
      this.#actOnAll();
    });
  }

  #actOnAll(): void {
    // Also visits items that `act` adds: `add` then sets no immediate.
    for (const item of this.#due) {
      try {
        this.#act(item);
      } catch (error) {
        // One turn later, once the output for the other items has been sent.
        setImmediate(() => {
          throw error;
        });
      }
    }
    this.#due = [];
  }
}
