import { randomBytes } from 'node:crypto';
import { v7 } from 'uuid';
import type { NewRoute } from '../../src/registry/route-store.js';
import { type Route, shapeOf } from '../../src/registry/route.js';

const CREATED_AT = new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 678));

/** A UUIDv7 with this timestamp, in milliseconds since the epoch. */
export function uuidAt(msecs: number): string {
  return v7({ msecs });
}

function routeOf(change: Partial<Route> = {}): Route {
  return {
    id: uuidAt(CREATED_AT.getTime()),
    method: 'GET',
    path: `/${randomBytes(8).toString('hex')}`,
    middleware: [],
    handler: 'h',
    createdAt: CREATED_AT,
    ...change,
  };
}

/** A new route with a unique path, as an argument of a store. */
export function entryOf(change: Partial<Route> = {}, rest: Partial<NewRoute> = {}): NewRoute {
  const route = routeOf(change);
  return { route, caller: 'me', idempotencyKey: undefined, shape: shapeOf(route), ...rest };
}
