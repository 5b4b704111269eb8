import type { Knex } from 'knex';
import { LRUCache } from 'lru-cache';
import type { InsertOutcome, NewRoute, RouteStore, Signal } from '../registry/route-store.js';
import { type Route, sameDefinition } from '../registry/route.js';
import { batched } from './batch.js';
import type { EmbeddedFile } from './embedded-file.js';
import { type Find, findAll } from './finds.js';
import type { Galera } from './galera.js';
import { decodeId, encodeId, type NewRouteRow, toRoute, toRow } from './route-row.js';
import { Replica, type ReplicaChange } from './replica.js';
import { Replicas } from './replicas.js';
import { RouteRows, type ServedCall } from './route-rows.js';
import { type StatementObserver, StatementObservers } from './statement-observer.js';
import { NotSent } from './waiting.js';

/** The most shapes remembered as having a first route, so that a duplicate need not try to become the first. */
const MAX_KNOWN_SHAPES = 10_000;

interface Insert extends ServedCall {
  readonly entry: NewRoute;
  readonly duplicates: 'allow' | 'reject';
}

/** The options of a store. */
export interface KnexRouteStoreOptions {
  /** The files of the embedded database. */
  readonly file?: EmbeddedFile | undefined;
  /** Whether the primary is a Galera node. Default: no. */
  readonly galera?: Galera | undefined;
  /** Default: none. */
  readonly observers?: readonly StatementObserver[];
  /** Read replicas of the database. Default: none. */
  readonly replicas?: readonly Knex[];
  /** Called when a replica starts or stops serving. */
  readonly onReplicaChange?: (change: ReplicaChange) => void;
  /** The time limit of a check, in milliseconds. Default: 2,000. */
  readonly checkLimitMs?: number | undefined;
  /** The time limit of a get from a replica, in milliseconds. Default: 1,000. */
  readonly replicaLimitMs?: number | undefined;
}

/**
 * Routes in a table, on every engine. Concurrent inserts share a commit and concurrent finds share a query; each call
 * is answered as soon as its own result is there. The store does not close its `Knex` instances.
 */
export class KnexRouteStore implements RouteStore {
  readonly #observers: StatementObservers;
  readonly #rows: RouteRows;
  readonly #galera: Galera | undefined;
  readonly #knownShapes = new LRUCache<string, true>({ max: MAX_KNOWN_SHAPES });
  readonly #insertJoined = batched('when full', (inserts: readonly Insert[]) => this.#insertAll(inserts));
  readonly #findJoined = batched('at once', (finds: readonly Find[]) => findAll(this.#rows, finds));
  /** Limited in rate, so that gets of unknown ids cannot use up the primary's time. */
  readonly #findAgain = batched('one by one', (finds: readonly Find[]) => findAll(this.#rows, finds, true));
  /** The replicas that gets are sent to; they must be checked before they serve. */
  readonly replicas: Replicas;

  constructor(
    knex: Knex,
    {
      file,
      galera,
      observers = [],
      replicas = [],
      onReplicaChange = () => undefined,
      checkLimitMs,
      replicaLimitMs,
    }: KnexRouteStoreOptions = {},
  ) {
    const all = new StatementObservers(observers);
    this.#observers = all;
    this.#galera = galera;
    this.#rows = new RouteRows(knex, { server: 'primary', observers: all, file, galera, checkLimitMs });
    this.replicas = new Replicas(
      replicas.map((each, i) => {
        const rows = new RouteRows(each, { server: 'replica', observers: all, checkLimitMs, replicaLimitMs });
        return new Replica(rows, i + 1, onReplicaChange);
      }),
    );
  }

  insert(entry: NewRoute, duplicates: 'allow' | 'reject', signal?: Signal): Promise<InsertOutcome> {
    return this.#insertJoined({ entry, duplicates, ...this.#served(signal) });
  }

  find(id: string, signal?: Signal): Promise<Route | undefined> {
    const key = encodeId(id);
    if (key === undefined) return Promise.resolve(undefined);
    const find = { id, key, ...this.#served(signal) };
    const replica = this.replicas.next();
    if (replica !== undefined) return this.#findBy(replica, find);
    return this.#galera?.on === true ? this.#findOnNode(find) : this.#findJoined(find);
  }

  findByIdempotencyKey(caller: string, idempotencyKey: string, signal?: Signal): Promise<Route | undefined> {
    return this.#withIdempotencyKey(caller, idempotencyKey, this.#served(signal));
  }

  findByShape(shape: string, signal?: Signal): Promise<string | undefined> {
    return this.#firstOfShape(shape, this.#served(signal));
  }

  ping(): Promise<void> {
    return this.#rows.ping();
  }

  /**
   * Asks a replica, then the primary for a route that the replica does not have. The route may be on its way there,
   * however old its id looks: the id's time is from the clock of the instance that created it.
   */
  async #findBy(replica: Replica, find: Find): Promise<Route | undefined> {
    const found = await replica.find(find);
    if (found !== undefined) return found;
    const late = await this.#findAgain(find);
    if (late !== undefined) replica.missed(find);
    return late;
  }

  /** Asks a Galera node, and once more for a route that it does not show yet. */
  async #findOnNode(find: Find): Promise<Route | undefined> {
    return (await this.#findJoined(find)) ?? this.#findAgain(find);
  }

  /** A call that starts waiting. */
  #served(signal: Signal | undefined): ServedCall {
    return { signal, captured: this.#observers.capture() };
  }

  async #withIdempotencyKey(
    caller: string,
    idempotencyKey: string,
    call: ServedCall,
  ): Promise<Route | undefined> {
    const where = { caller: Buffer.from(caller), request_id: Buffer.from(idempotencyKey) };
    const row = await this.#rows.first(where, call);
    return row === undefined ? undefined : toRoute(row);
  }

  async #firstOfShape(shape: string, call: ServedCall): Promise<string | undefined> {
    const row = await this.#rows.first({ shape: Buffer.from(shape) }, call);
    return row === undefined ? undefined : decodeId(row.id);
  }

  /** Inserts all in one commit; if an entry prevents that, or is no longer wanted, each separately. */
  async #insertAll(inserts: readonly Insert[]): Promise<(InsertOutcome | Error)[]> {
    if (inserts.length > 1 && (await this.#insertTogether(inserts))) {
      for (const { entry } of inserts) this.#knownShapes.set(entry.shape, true);
      return inserts.map(() => ({ outcome: 'inserted' }));
    }
    const settled = await Promise.allSettled(
      inserts.map((insert) => this.#insertOne(insert, this.#toRow(insert))),
    );
    return settled.map((result) => (result.status === 'fulfilled' ? result.value : (result.reason as Error)));
  }

  async #insertTogether(inserts: readonly Insert[]): Promise<boolean> {
    const refusal = await this.#rows.insert(this.#toRows(inserts), inserts);
    return refusal === undefined;
  }

  async #insertOne(insert: Insert, row: NewRouteRow): Promise<InsertOutcome> {
    const { caller, idempotencyKey, shape } = insert.entry;
    const refusal = await this.#rows.insert([row], [insert]);
    if (refusal === undefined) {
      this.#knownShapes.set(shape, true);
      return { outcome: 'inserted' };
    }
    if (refusal instanceof NotSent) throw refusal;
    if (await this.#isStored(insert)) return { outcome: 'inserted' };
    const repeated =
      idempotencyKey === undefined
        ? undefined
        : await this.#withIdempotencyKey(caller, idempotencyKey, insert);
    if (repeated !== undefined) return { outcome: 'repeated', route: repeated };
    const first = row.shape === null ? undefined : await this.#firstOfShape(shape, insert);
    if (first === undefined) throw refusal;
    if (insert.duplicates === 'reject') return { outcome: 'duplicate', id: first };
    return this.#insertOne(insert, { ...row, shape: null });
  }

  /** Whether this very route is stored, by an earlier attempt of the service or of a proxy that got no answer. */
  async #isStored(insert: Insert): Promise<boolean> {
    const { route } = insert.entry;
    const row = await this.#rows.first({ id: toRow(insert.entry).id }, insert);
    if (row === undefined) return false;
    const stored = toRoute(row);
    return sameDefinition(stored, route) && stored.createdAt.getTime() === route.createdAt.getTime();
  }

  /** The first route of a shape holds it in the unique index; later ones are stored without it. */
  #toRow({ entry, duplicates }: Insert): NewRouteRow {
    const row = toRow(entry);
    return duplicates === 'allow' && this.#knownShapes.has(entry.shape) ? { ...row, shape: null } : row;
  }

  #toRows(inserts: readonly Insert[]): NewRouteRow[] {
    const shapes = new Set<string>();
    return inserts.map((insert) => {
      const row = this.#toRow(insert);
      const later = insert.duplicates === 'allow' && shapes.has(insert.entry.shape);
      shapes.add(insert.entry.shape);
      return later ? { ...row, shape: null } : row;
    });
  }
}
