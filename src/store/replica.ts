import type { Route } from '../registry/route.js';
import { batched } from './batch.js';
import { type Find, findAll } from './finds.js';
import type { RouteRows } from './route-rows.js';
import { NotSent } from './waiting.js';

/** The number of gets that must have come too early for a replica before it may count as lagging. */
const LATE_MIN = 16;
/** The most rows that a lagging replica must have before it serves again: as many as one statement asks for. */
const AWAITED_MAX = 64;

/** A replica started or stopped serving. */
export interface ReplicaChange {
  /** Its place in the setting, from 1. */
  readonly replica: number;
  readonly serving: boolean;
  /** Why it stopped serving. */
  readonly cause?: unknown;
}

/**
 * A read replica, which is asked before the primary while it serves. A route found there is correct, since routes never
 * change; a missing one proves nothing.
 *
 * It serves from its first successful check. It stops when a statement fails, or when it lags: since the latest check,
 * the primary had to find more of its routes than it found itself, at least 16. It then serves again after a check in
 * which it has the latest 64 of these routes. So a user with read access to the table is enough.
 */
export class Replica {
  readonly #rows: RouteRows;
  readonly #number: number;
  readonly #report: (change: ReplicaChange) => void;
  readonly #findJoined = batched('at once', (finds: readonly Find[]) => this.#findAll(finds));
  #serving = false;
  /** The gets that it answered since the latest check, and those that it could not answer yet. */
  #found = 0;
  #late = 0;
  /** Rows of the primary that it did not have when it was asked. */
  readonly #awaited = new Map<string, Buffer>();

  /** @param number its place in the setting, from 1 */
  constructor(rows: RouteRows, number: number, report: (change: ReplicaChange) => void) {
    this.#rows = rows;
    this.#number = number;
    this.#report = report;
  }

  /** Whether gets may be sent to it. */
  get serving(): boolean {
    return this.#serving;
  }

  /** The route, if the replica has it and answers. @throws NotSent */
  async find(find: Find): Promise<Route | undefined> {
    try {
      const route = await this.#findJoined(find);
      if (route !== undefined) this.#found++;
      return route;
    } catch (error) {
      if (error instanceof NotSent) throw error;
      this.#leaveOut(error);
      return undefined;
    }
  }

  /** Records a route that the primary has, but this replica did not find. */
  missed({ id, key }: Find): void {
    this.#late++;
    this.#awaited.set(id, key);
    const [oldest = id] = this.#awaited.keys();
    if (this.#awaited.size > AWAITED_MAX) this.#awaited.delete(oldest);
    if (this.#late >= LATE_MIN && this.#late > this.#found)
      this.#leaveOut(new Error(`It lags: it had ${this.#found} routes in time and ${this.#late} too late.`));
  }

  /** Checks whether it can serve, and starts a new count. Never rejects. */
  async check(): Promise<void> {
    const serving = this.#serving;
    try {
      // While it serves, a few gets that came too early do not stop it.
      const hasAll = await this.#rows.hasAll(serving ? [] : [...this.#awaited.values()]);
      const leftOutMeanwhile = serving && !this.#serving;
      if (!hasAll || leftOutMeanwhile) return;
      this.#found = 0;
      this.#late = 0;
      this.#awaited.clear();
      this.#serving = true;
      if (!serving) this.#report({ replica: this.#number, serving: true });
    } catch (error) {
      this.#leaveOut(error);
    }
  }

  #findAll(finds: readonly Find[]): Promise<(Route | undefined)[]> {
    // Gets that waited behind a failed statement need not fail one by one.
    return this.#serving ? findAll(this.#rows, finds) : Promise.resolve(finds.map(() => undefined));
  }

  #leaveOut(cause: unknown): void {
    if (!this.#serving) return;
    this.#serving = false;
    this.#report({ replica: this.#number, serving: false, cause });
  }
}
