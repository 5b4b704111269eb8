import type { Knex } from 'knex';
import type { InsertOutcome, NewRoute, RouteStore } from '../registry/route-store.js';
import type { Route } from '../registry/route.js';
import { isDeadlock, isDuplicateKey, translate } from './driver-errors.js';
import {
  decodeId,
  encodeId,
  hashShape,
  type NewRouteRow,
  ROUTE_COLUMNS,
  type RouteRow,
  toRoute,
  toRow,
} from './route-row.js';

/** How often an insert is tried while the database picks it as the victim of a deadlock. */
const INSERT_ATTEMPTS = 5;

/** Routes in a table, by the same statements on every engine. The caller owns `knex` and ends it. */
export class KnexRouteStore implements RouteStore {
  readonly #knex: Knex;

  constructor(knex: Knex) {
    this.#knex = knex;
  }

  async insert(entry: NewRoute, duplicates: 'allow' | 'reject'): Promise<InsertOutcome> {
    return this.#insert(toRow(entry), entry, duplicates);
  }

  async find(id: string): Promise<Route | undefined> {
    const bytes = encodeId(id);
    return bytes === undefined ? undefined : this.#first({ id: bytes });
  }

  async findByRequestId(caller: string, requestId: string): Promise<Route | undefined> {
    return this.#first({ caller: Buffer.from(caller), request_id: Buffer.from(requestId) });
  }

  async findByShape(shape: string): Promise<string | undefined> {
    const row = await answered(
      this.#knex<NewRouteRow>('routes')
        .where({ shape: hashShape(shape) })
        .first('id'),
    );
    return row === undefined ? undefined : decodeId(row.id);
  }

  async ping(): Promise<void> {
    await answered(this.#knex('routes').select(this.#knex.raw('1')).limit(1));
  }

  async #insert(row: NewRouteRow, entry: NewRoute, duplicates: 'allow' | 'reject'): Promise<InsertOutcome> {
    const conflict = await this.#tryInsert(row);
    if (conflict === undefined) return { outcome: 'inserted' };
    const { caller, requestId, shape } = entry;
    const repeated = requestId === undefined ? undefined : await this.findByRequestId(caller, requestId);
    if (repeated !== undefined) return { outcome: 'repeated', route: repeated };
    const first = row.shape === null ? undefined : await this.findByShape(shape);
    if (first === undefined) throw translate(conflict);
    if (duplicates === 'reject') return { outcome: 'duplicate', id: first };
    // The first route of a shape holds it in the unique index; a later one is stored without.
    return this.#insert({ ...row, shape: null }, entry, duplicates);
  }

  /** Resolves with the error of the unique index that refused the row, if one did. */
  async #tryInsert(row: NewRouteRow): Promise<Error | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#knex('routes').insert(row);
        return undefined;
      } catch (error) {
        if (isDuplicateKey(error)) return error as Error;
        if (!isDeadlock(error) || attempt === INSERT_ATTEMPTS) throw translate(error);
      }
    }
  }

  async #first(where: Partial<NewRouteRow>): Promise<Route | undefined> {
    const row = await answered<RouteRow | undefined>(
      this.#knex<NewRouteRow>('routes')
        .where(where)
        .first(...ROUTE_COLUMNS),
    );
    return row === undefined ? undefined : toRoute(row);
  }
}

/** The answer of a query, or its failure as the registry knows it. */
async function answered<T>(query: PromiseLike<T>): Promise<T> {
  try {
    return await query;
  } catch (error) {
    throw translate(error);
  }
}
