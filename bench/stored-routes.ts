import type { RouteRecord } from '../src/store/route-columns.js';
import type { RouteDefinition } from '../src/registry/route.js';

/** Creation time of the first stored route, in milliseconds: 2025-01-01T00:00:00Z. */
const FIRST_MS = Date.UTC(2025, 0, 1);
/** Number of routes per application. Their paths share a prefix, and the prefixes are scattered. */
const ROUTES_PER_APPLICATION = 50;
/** Spreads consecutive numbers over the random bits of their ids (Knuth's multiplicative hash). */
const SCATTER = 2_654_435_761;

/** The id of the n-th stored route: a UUIDv7, one millisecond after the previous one, the same in every run. */
export function idOf(n: number): string {
  const time = (FIRST_MS + n).toString(16).padStart(12, '0');
  const scattered = scatter(n);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${scattered.slice(0, 3)}-8${scattered.slice(3, 6)}-${scattered.slice(6)}0123456789`;
}

/** The n-th route as a client would create it. No two routes have the same shape. */
export function draftOf(n: number): RouteDefinition & { middleware: string[] } {
  const application = scatter(Math.floor(n / ROUTES_PER_APPLICATION));
  return {
    method: 'GET',
    path: `/${application}/tenants/:tenantId/collection-${n}/:itemId`,
    middleware: ['authenticate', 'authorize', 'audit'],
    handler: `collection${n}.showItem`,
  };
}

/** The n-th route as a client gets it. */
export function routeOf(n: number): RouteDefinition & { id: string; middleware: string[]; createdAt: Date } {
  return { id: idOf(n), ...draftOf(n), createdAt: new Date(FIRST_MS + n) };
}

/** The n-th route as the store keeps it, where duplicates are allowed. */
export function storedRoute(n: number): RouteRecord {
  const route = routeOf(n);
  return { route, caller: 'bench', idempotencyKey: undefined, shape: undefined };
}

function scatter(n: number): string {
  return (Math.imul(n, SCATTER) >>> 0).toString(16).padStart(8, '0');
}
