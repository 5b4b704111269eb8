/**
 * What the deploy script and the servers share: the registry and the manifest.
 *
 * Environment: `TOKEN`, a bearer token; `GRPC`, the target of the registry (default `127.0.0.1:50051`); `MANIFEST`, the
 * file with the ids of the routes (default `routes.json` beside the programs).
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import {
  createRouteClient,
  type Route,
  type RouteClient,
  type RouteDefinition,
} from '@route-registry/client';

export const MANIFEST = process.env['MANIFEST'] ?? fileURLToPath(new URL('routes.json', import.meta.url));

/** For each call, with its waiting in the client: there are many at once. */
export const TIMEOUT_MS = 60_000;

export function openRegistry(): RouteClient {
  return createRouteClient(process.env['GRPC'] ?? '127.0.0.1:50051', { token: process.env['TOKEN'] ?? '' });
}

/** The idempotency key of a definition: the application, and a hash of everything that the registry stores. */
export function keyOf({ method, path, middleware = [], handler }: RouteDefinition): string {
  const content = JSON.stringify([method, path, middleware, handler]);
  return `shop/${createHash('sha256').update(content).digest('base64url')}`;
}

/** The routes of the manifest, in its order. */
export async function registeredRoutes(): Promise<Route[]> {
  const ids = JSON.parse(await readFile(MANIFEST, 'utf8')) as string[];
  const registry = openRegistry();
  try {
    return await Promise.all(ids.map((id) => registry.getRoute(id, { timeoutMs: TIMEOUT_MS })));
  } finally {
    registry.close();
  }
}
