/** A promise that is resolved from outside. */
export class Deferred<T = void> {
  readonly promise: Promise<T>;
  /** Set by the promise's executor, which runs in the constructor. */
  resolve!: (value: T) => void;

  constructor() {
    this.promise = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }
}
