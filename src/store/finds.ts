import type { Route } from '../registry/route.js';
import { toRoute } from './route-row.js';
import type { RouteRows, ServedCall } from './route-rows.js';

/** A get that is waiting for a route. */
export interface Find extends ServedCall {
  readonly id: string;
  /** The same id in the database's form. */
  readonly key: Buffer;
}

/** Answers all finds with one statement, in their order. @param rows of the server to ask */
export async function findAll(
  rows: RouteRows,
  finds: readonly Find[],
  fallback = false,
): Promise<(Route | undefined)[]> {
  const keys = finds.map(({ key }) => key);
  const found = await rows.withIds(keys, finds, fallback);
  const routes = new Map(found.map(toRoute).map((route) => [route.id, route]));
  return finds.map(({ id }) => routes.get(id));
}
