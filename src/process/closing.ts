import { setTimeout as delay } from 'node:timers/promises';

type Close = () => Promise<void> | void;

/** How long servers wait for calls in progress when they close, in milliseconds. */
export const GRACE_MS = 6_000;
/** Less than the ten seconds that containers are given. */
const LIMIT_MS = 8_000;

/** Everything that was opened and must be closed: first the servers, all at once, then the rest in reverse order. */
export class Closing {
  readonly #servers: Close[] = [];
  readonly #resources: Close[] = [];
  readonly #limitMs: number;

  /** @param limitMs the longest time that closing may take, in milliseconds */
  constructor(limitMs = LIMIT_MS) {
    this.#limitMs = limitMs;
  }

  /** A server, or something that acts for one: it ends its calls in progress within `GRACE_MS`. */
  server(close: Close): void {
    this.#servers.push(close);
  }

  /** Something that calls in progress may need. */
  resource(close: Close): void {
    this.#resources.push(close);
  }

  /**
   * Closes everything, even when some of it fails. Resolves with whether all of it was closed in time; the rest is left
   * as it is.
   *
   * @throws AggregateError with every failure in that time
   */
  async close(): Promise<boolean> {
    const failures: unknown[] = [];
    const waiting = new AbortController();
    const inTime = await Promise.race([
      this.#closeAll(failures).then(() => true),
      delay(this.#limitMs, false, { signal: waiting.signal }).catch(() => false),
    ]);
    waiting.abort();
    if (failures.length > 0) throw new AggregateError(failures, 'Not everything could be closed.');
    return inTime;
  }

  async #closeAll(failures: unknown[]): Promise<void> {
    const attempt = async (close: Close): Promise<void> => {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    };
    await Promise.all(this.#servers.map(attempt));
    for (const close of this.#resources.reverse()) await attempt(close);
  }
}
