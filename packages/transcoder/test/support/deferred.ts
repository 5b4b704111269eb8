/** A promise that is settled from outside. */
export class Deferred<T = void> {
  readonly promise: Promise<T>;
  /** Set by the promise itself, before anyone can call it. */
  resolve!: (value: T) => void;

  constructor() {
    this.promise = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }
}
