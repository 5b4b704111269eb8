import type { Replica } from './replica.js';

/** The pause after each check of all replicas, in milliseconds. */
const INTERVAL_MS = 2_000;

/** The read replicas of a database. Those that serve take turns. */
export class Replicas {
  readonly #replicas: readonly Replica[];
  #turns = 0;

  constructor(replicas: readonly Replica[]) {
    this.#replicas = replicas;
  }

  /** The replica to ask next; undefined while none serves. */
  next(): Replica | undefined {
    const serving = this.#replicas.filter((replica) => replica.serving);
    return serving.length === 0 ? undefined : serving[this.#turns++ % serving.length];
  }

  /** Checks whether each can serve. */
  async check(): Promise<void> {
    await Promise.all(this.#replicas.map((replica) => replica.check()));
  }

  /** Checks them now and then repeatedly. @returns a function that stops this */
  follow(intervalMs = INTERVAL_MS): () => void {
    let timer: NodeJS.Timeout | undefined;
    let stopped = false;
    const check = async (): Promise<void> => {
      await this.check();
      if (!stopped) timer = setTimeout(() => void check(), intervalMs);
    };
    void check();
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }
}
