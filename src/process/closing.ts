import { setTimeout as delay } from 'node:timers/promises';

type Close = () => Promise<void> | void;

/** How long servers wait for calls under way when they close, in milliseconds. */
export const GRACE_MS = 6_000;
/** How long closing may take in all, in milliseconds: less than the ten seconds that containers are given. */
const LIMIT_MS = 8_000;

/** What was opened and has to be closed: first the servers, all at once, then the rest in reverse order. */
export class Closing {
  readonly #servers: Close[] = [];
  readonly #resources: Close[] = [];

  /** A server that takes calls in, and ends those under way by itself within `GRACE_MS`, or what speaks for one. */
  server(close: Close): void {
    this.#servers.push(close);
  }

  /** Something that calls under way may need. */
  resource(close: Close): void {
    this.#resources.push(close);
  }

  /** Closes everything. Resolves with whether all of it was closed in time; what was not is left as it is. */
  async close(): Promise<boolean> {
    const waiting = new AbortController();
    const inTime = await Promise.race([
      this.#closeAll().then(() => true),
      delay(LIMIT_MS, false, { signal: waiting.signal }).catch(() => false),
    ]);
    waiting.abort();
    return inTime;
  }

  async #closeAll(): Promise<void> {
    await Promise.all(
      this.#servers.map(async (close) => {
        await close();
      }),
    );
    for (const close of this.#resources.reverse()) await close();
  }
}
