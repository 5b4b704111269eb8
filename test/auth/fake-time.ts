import { expect } from 'vitest';
import { NOW } from './sign-jwt.js';

interface Task {
  readonly atMs: number;
  readonly run: () => void;
}

/** Time that passes only when a test says so. The system's clock begins at {@link NOW}. */
export class FakeTime {
  #nowMs = 0;
  #systemMs = NOW * 1_000;
  readonly #tasks = new Set<Task>();

  /** Milliseconds since the epoch, by the system's clock. */
  readonly now = (): number => this.#systemMs + this.#nowMs;

  /** Milliseconds of a clock that never steps. */
  readonly monotonic = (): number => this.#nowMs;

  /** Calls the task once after the delay, unless the returned function is called before. */
  readonly later = (run: () => void, delayMs: number): (() => void) => {
    const task = { atMs: this.#nowMs + delayMs, run };
    this.#tasks.add(task);
    return () => this.#tasks.delete(task);
  };

  /** Sets the system's clock forward, or back, as a wrong time server does. */
  step(ms: number): void {
    this.#systemMs += ms;
  }

  /** Lets time pass, and then begins the tasks that are due. */
  pass(ms: number): void {
    this.#nowMs += ms;
    for (const task of this.#tasks) {
      if (task.atMs > this.#nowMs) continue;
      this.#tasks.delete(task);
      task.run();
    }
  }

  /** Waits until a task is planned: a key set plans its next fetch at the end of each. */
  async planned(): Promise<void> {
    await expect.poll(() => this.#tasks.size, { interval: 1, timeout: 5_000 }).toBe(1);
  }
}
