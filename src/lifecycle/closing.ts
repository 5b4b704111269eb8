import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

type Close = () => Promise<void> | void;

interface Opened {
  readonly name: string;
  readonly close: Close;
}

/** How long servers wait for calls in progress when they close, in milliseconds. */
export const GRACE_MS = 6_000;
/** The time limit of closing after the drain, in milliseconds: below Docker's default stop timeout of ten seconds. */
const LIMIT_MS = 8_000;

interface ClosingOptions {
  /** How long everything keeps running after the announcements, in milliseconds; default: 0. */
  readonly drainMs?: number;
  /** Called after each successful step, with its name and the milliseconds since closing began. */
  readonly log?: (step: string, ms: number) => void;
}

/**
 * Everything that must be closed. `close` makes the announcements, waits for the drain, closes all servers at the same
 * time, and then closes the resources in reverse order.
 */
export class Closing {
  readonly #announcements: Opened[] = [];
  readonly #servers: Opened[] = [];
  readonly #resources: Opened[] = [];
  readonly #limitMs: number;

  /** @param limitMs the longest time that closing may take after the drain, in milliseconds */
  constructor(limitMs = LIMIT_MS) {
    this.#limitMs = limitMs;
  }

  /** Adds an announcement, such as to load balancers, that the service is about to stop. The service keeps running. */
  announce(name: string, tell: Close): void {
    this.#announcements.push({ name, close: tell });
  }

  /** Adds a server, whose `close` must end its calls in progress within `GRACE_MS`. */
  server(name: string, close: Close): void {
    this.#servers.push({ name: `closed the ${name}`, close });
  }

  /** Adds a resource, which calls in progress may need until the servers are closed. */
  resource(name: string, close: Close): void {
    this.#resources.push({ name: `closed the ${name}`, close });
  }

  /**
   * Closes everything, even if some steps fail. Resolves with whether everything was closed in time; whatever is still
   * open then stays open.
   *
   * @throws AggregateError with every failure up to the time limit
   */
  async close({ drainMs = 0, log = () => undefined }: ClosingOptions = {}): Promise<boolean> {
    const begunAt = performance.now();
    const failures: unknown[] = [];
    const take = async ({ name, close }: Opened): Promise<void> => {
      try {
        await close();
        log(name, Math.round(performance.now() - begunAt));
      } catch (error) {
        failures.push(error);
      }
    };
    await Promise.all(this.#announcements.map(take));
    if (drainMs > 0) await delay(drainMs);
    const waiting = new AbortController();
    const inTime = await Promise.race([
      this.#closeAll(take).then(() => true),
      delay(this.#limitMs, false, { signal: waiting.signal }).catch(() => false),
    ]);
    waiting.abort();
    if (failures.length > 0) throw new AggregateError(failures, 'Not everything could be closed.');
    return inTime;
  }

  async #closeAll(take: (opened: Opened) => Promise<void>): Promise<void> {
    await Promise.all(this.#servers.map(take));
    for (const resource of this.#resources.reverse()) await take(resource);
  }
}
