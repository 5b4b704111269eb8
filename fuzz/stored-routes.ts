import type { Ledger, ShownRoute } from './ledger.js';
import { validDraft } from './values/callers.js';
import { drawn } from './values/draws.js';
import type { StoredRoute } from './world.js';

const COUNT = 20;
/** The timeout of a request, in milliseconds: far longer than the service takes. */
const LIMIT_MS = 10_000;

/** Sends an ordinary REST request: a POST if there is a body, otherwise a GET. @throws Error unless it succeeds */
export async function askRest(http: string, token: string, path: string, body?: unknown): Promise<string> {
  const response = await fetch(`http://${http}${path}`, {
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    signal: AbortSignal.timeout(LIMIT_MS),
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
  return text;
}

/** Creates routes that must stay unchanged during the run. */
export async function createStoredRoutes(
  http: string,
  token: string,
  ledger: Ledger,
): Promise<StoredRoute[]> {
  const routes: StoredRoute[] = [];
  while (routes.length < COUNT) {
    const body = await askRest(http, token, '/v1/routing', drawn(validDraft, 1, routes.length));
    const route = JSON.parse(body) as ShownRoute;
    ledger.acknowledge(route);
    routes.push({ id: route.id, body });
  }
  return routes;
}

/** Reads these routes again. Returns the changes as problems. */
export async function storedRouteProblems(
  http: string,
  token: string,
  routes: readonly StoredRoute[],
): Promise<string[]> {
  const bodies = await Promise.all(
    routes.map(({ id }) => askRest(http, token, `/v1/routing/${id}`).catch(String)),
  );
  return routes.flatMap(({ body }, i) =>
    bodies[i] === body ? [] : [`The route ${body} is now ${bodies[i]}`],
  );
}
