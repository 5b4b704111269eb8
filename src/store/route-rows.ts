import type { Knex } from 'knex';
import { isDeadlock, isRefusal, translate } from './driver-errors.js';
import { type NewRouteRow, ROUTE_COLUMNS, type RouteRow } from './route-row.js';

/** How often an insert is tried while the database picks it as the victim of a deadlock. */
const INSERT_ATTEMPTS = 5;

/** The statements on the table `routes`, the same on every engine. Their failures are those of the registry. */
export class RouteRows {
  readonly #knex: Knex;

  constructor(knex: Knex) {
    this.#knex = knex;
  }

  /** All rows in one commit, or none: then resolves with why the database refused one. */
  async insert(rows: readonly NewRouteRow[]): Promise<Error | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#knex('routes').insert([...rows]);
        return undefined;
      } catch (error) {
        const again = isDeadlock(error) && attempt < INSERT_ATTEMPTS;
        if (again) continue;
        if (isRefusal(error)) return translate(error) as Error;
        throw translate(error);
      }
    }
  }

  /** The rows with these identifiers, in any order. */
  async withIds(ids: readonly Buffer[]): Promise<RouteRow[]> {
    return answered(
      this.#knex<NewRouteRow>('routes')
        .whereIn('id', [...ids])
        .select(...ROUTE_COLUMNS),
    );
  }

  /** The row with these values of unique columns. */
  async first(where: Partial<NewRouteRow>): Promise<RouteRow | undefined> {
    return answered(
      this.#knex<NewRouteRow>('routes')
        .where(where)
        .first(...ROUTE_COLUMNS),
    );
  }

  /** Resolves when the table can be read. */
  async ping(): Promise<void> {
    await answered(this.#knex('routes').select(this.#knex.raw('1')).limit(1));
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
