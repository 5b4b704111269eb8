import { createHash } from 'node:crypto';
import { parseDatabaseUrl } from '../src/settings/database-url.js';
import { openForMigrations } from '../src/store/database.js';
import { ROUTE_COLUMNS, type RouteRow, toRoute } from '../src/store/route-row.js';

/** A route in ProtoJSON, as a response of either protocol contains it. */
export interface ShownRoute {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly middleware: readonly string[];
  readonly handler: string;
  readonly createdAt: string;
}

/** The creates that the service acknowledged, and those whose outcome is unknown. */
export class Ledger {
  /** The digest of each acknowledged route, by id. */
  readonly #acknowledged = new Map<string, string>();
  /** The number of creates without a response, which may have been stored. */
  unsure = 0;
  /** The number of failures with `OVERLOADED`. */
  overloaded = 0;

  /** Records a successful create. Returns the problems with it. */
  acknowledge(route: ShownRoute): string[] {
    const digest = digestOf(route);
    const before = this.#acknowledged.get(route.id) ?? digest;
    this.#acknowledged.set(route.id, digest);
    return before === digest ? [] : [`The route ${route.id} was acknowledged with two different contents.`];
  }

  /** Compares the ledger with all routes in an embedded database. Returns the differences. @param file its path */
  async compare(file: string): Promise<string[]> {
    const stored = await routesIn(file);
    const digests = new Map(stored.map((route) => [route.id, digestOf(route)]));
    const wrong = [...this.#acknowledged].filter(([id, digest]) => digests.get(id) !== digest);
    const unknown = stored.filter(({ id }) => !this.#acknowledged.has(id));
    const problems = wrong.map(([id]) => `The acknowledged route ${id} is not stored as acknowledged.`);
    if (unknown.length > this.unsure) {
      problems.push(
        `${unknown.length} stored routes were never acknowledged; at most ${this.unsure} responses were missed.`,
      );
    }
    const strange = stored.filter(({ handler }) => handler === FORBIDDEN);
    return [
      ...problems,
      ...strange.map(({ id }) => `The route ${id} is stored for a client without a valid token.`),
    ];
  }
}

async function routesIn(file: string): Promise<ShownRoute[]> {
  const knex = openForMigrations(parseDatabaseUrl(`sqlite:${file}`));
  const rows = await knex<RouteRow>('routes').select<RouteRow[]>(ROUTE_COLUMNS);
  await knex.destroy();
  return rows.map(toRoute).map((route) => ({ ...route, createdAt: route.createdAt.toISOString() }));
}

/** The handler of the routes that clients without a valid token try to create. */
export const FORBIDDEN = 'forbidden';

function digestOf({ id, method, path, middleware, handler, createdAt }: ShownRoute): string {
  const text = JSON.stringify([id, method, path, middleware, handler, createdAt]);
  return createHash('sha256').update(text).digest('base64');
}
