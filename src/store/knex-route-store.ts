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
    const row = toRow(entry);
    const conflict = await this.#tryInsert(row);
    if (conflict === undefined) return { outcome: 'inserted' };
    const repeated = await this.#findRepeated(entry);
    if (repeated !== undefined) return { outcome: 'repeated', route: repeated };
    const first = await this.findByShape(entry.shape);
    if (first === undefined) throw translate(conflict);
    if (duplicates === 'reject') return { outcome: 'duplicate', id: first };
    return this.#insertWithoutShape({ ...row, shape: null }, entry);
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

  /** A later route of its shape: the first one holds the shape in the unique index. */
  async #insertWithoutShape(row: NewRouteRow, entry: NewRoute): Promise<InsertOutcome> {
    const conflict = await this.#tryInsert(row);
    if (conflict === undefined) return { outcome: 'inserted' };
    const repeated = await this.#findRepeated(entry);
    if (repeated === undefined) throw translate(conflict);
    return { outcome: 'repeated', route: repeated };
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

  async #findRepeated({ caller, requestId }: NewRoute): Promise<Route | undefined> {
    return requestId === undefined ? undefined : this.findByRequestId(caller, requestId);
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
