import type { Route } from '../registry/route.js';
import { inBatches } from './batch.js';
import { type RouteRecord, toRecord } from './route-columns.js';
import type { UniqueValues } from './route-sql.js';
import type { ServedCall } from './statement-observers.js';
import type { RouteStatements } from './statements.js';

/** A call that waits for the routes that have one of these values. */
export interface LookUp extends ServedCall {
  readonly values: UniqueValues;
}

/**
 * Stored routes: each by its id, by `keyText` of its key, and by its shape. `undefined` is never a key of the map, so an
 * absent key or shape finds nothing.
 */
export type FoundRoutes = ReadonlyMap<string | undefined, Route>;

/** Looks routes up by their unique values. Look-ups that come together share a statement, and its result. */
export class LookUps {
  /** Finds every route, on the writer. */
  readonly onWriter: (lookUp: LookUp) => Promise<FoundRoutes>;
  /** Cheaper. It may miss routes, since a reader may lag behind the writer. @throws the driver's error */
  readonly anywhere: (lookUp: LookUp) => Promise<FoundRoutes>;

  constructor(statements: RouteStatements) {
    this.onWriter = inBatches(
      // Fewer than below, since a transaction keeps its connection for several round trips.
      { maxConcurrent: 1, maxConcurrentWhenFull: 2 },
      shareResult(statements.lookUpOnWriter.bind(statements)),
    );
    this.anywhere = inBatches(
      { maxConcurrent: 2, maxConcurrentWhenFull: 4 },
      shareResult(statements.lookUp.bind(statements)),
    );
  }
}

/** Makes one statement of several look-ups. All of them get the routes that any of them asks for. */
function shareResult(send: RouteStatements['lookUp']) {
  return async (lookUps: readonly LookUp[]): Promise<readonly FoundRoutes[]> => {
    const rows = await send(
      lookUps.map(({ values }) => values),
      lookUps,
    );
    const found = new Map<string, Route>();
    for (const record of rows.map(toRecord)) {
      const { route } = record;
      for (const text of [route.id, ...uniqueTextsOf(record)]) found.set(text, route);
    }
    return lookUps.map(() => found);
  };
}

/**
 * A text that two routes share only if they have the same caller and idempotency key; undefined without a key. The
 * length tells where the caller ends.
 */
export function keyText({
  caller,
  idempotencyKey,
}: Pick<RouteRecord, 'caller' | 'idempotencyKey'>): string | undefined {
  return idempotencyKey === undefined ? undefined : `${caller.length} ${caller} ${idempotencyKey}`;
}

/**
 * The key and the shape of a route, as texts that differ from each other and from every id: the text of a key has at
 * least two spaces, a shape has one, and an id none.
 */
export function uniqueTextsOf(record: Omit<RouteRecord, 'route'>): string[] {
  return [keyText(record), record.shape].filter((text) => text !== undefined);
}
