import type { Route } from '../registry/route.js';
import { batched } from './batch.js';
import { type StoredRoute, toStored, type UniqueValues } from './route-row.js';
import type { RouteStatements, ServedCall } from './statements.js';

/** A text that two routes share only if they have the same caller and idempotency key; undefined without a key. */
export function keyOf({ caller, idempotencyKey }: Pick<StoredRoute, 'caller' | 'idempotencyKey'>) {
  return idempotencyKey === undefined ? undefined : `${caller.length} ${caller} ${idempotencyKey}`;
}

/** Stored routes, by the values that only one of them has: id, key as `keyOf` has it, and shape. */
export interface StoredRoutes {
  readonly ids: ReadonlyMap<string, Route>;
  readonly keys: ReadonlyMap<string | undefined, Route>;
  readonly shapes: ReadonlyMap<string | undefined, Route>;
}

function byValues(stored: readonly StoredRoute[]): StoredRoutes {
  const having = (value: (each: StoredRoute) => string | undefined) =>
    new Map(stored.filter((each) => value(each) !== undefined).map((each) => [value(each), each.route]));
  return {
    ids: new Map(stored.map(({ route }) => [route.id, route])),
    keys: having(keyOf),
    shapes: having(({ shape }) => shape),
  };
}

/** A call that waits for the routes that have some of these values. */
export interface LookUp extends ServedCall {
  readonly values: UniqueValues;
}

/** Look-ups by unique values. Those that come together share a statement, and its result. */
export class LookUps {
  /** Finds every route, on the writer. A transaction keeps its connection for several round trips. */
  readonly consistent: (lookUp: LookUp) => Promise<StoredRoutes>;
  /** Cheaper. It may miss routes, since a reader may lag behind the writer. @throws the driver's error */
  readonly eventual: (lookUp: LookUp) => Promise<StoredRoutes>;

  constructor(rows: RouteStatements) {
    this.consistent = batched(
      { maxConcurrent: 1, maxConcurrentWhenFull: 2 },
      sharing(rows.lookUpOnWriter.bind(rows)),
    );
    this.eventual = batched({ maxConcurrent: 2, maxConcurrentWhenFull: 4 }, sharing(rows.lookUp.bind(rows)));
  }
}

function sharing(
  send: RouteStatements['lookUp'],
): (lookUps: readonly LookUp[]) => Promise<readonly StoredRoutes[]> {
  return async (lookUps) => {
    const values = lookUps.map((each) => each.values);
    const stored = byValues((await send(values, lookUps)).map(toStored));
    return lookUps.map(() => stored);
  };
}
