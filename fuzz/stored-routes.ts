import type { Ledger, ShownRoute } from './ledger.js';
import { validDraft } from './values/callers.js';
import { drawn } from './values/draws.js';
import type { StoredRoute } from './world.js';

const COUNT = 20;
/** The service answers a get long before this, in milliseconds. */
const LIMIT_MS = 30_000;

/** Creates the routes that no case may change. */
export async function createStoredRoutes(
  http: string,
  token: string,
  ledger: Ledger,
): Promise<StoredRoute[]> {
  const routes: StoredRoute[] = [];
  while (routes.length < COUNT) {
    const draft = drawn(validDraft, 1, routes.length);
    const response = await fetch(`http://${http}/v1/routing`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(draft),
    });
    const body = await response.text();
    if (response.status !== 201) throw new Error(`A route cannot be created: ${response.status} ${body}`);
    const route = JSON.parse(body) as ShownRoute;
    ledger.acknowledge(route);
    routes.push({ id: route.id, body });
  }
  return routes;
}

/** Reads these routes again. Returns what has changed. */
export async function storedRouteProblems(
  http: string,
  token: string,
  routes: readonly StoredRoute[],
): Promise<string[]> {
  const problems = await Promise.all(
    routes.map(async ({ id, body }) => {
      const headers = { authorization: `Bearer ${token}` };
      const signal = AbortSignal.timeout(LIMIT_MS);
      const reading = fetch(`http://${http}/v1/routing/${id}`, { headers, signal });
      const now = await reading.then((response) => response.text()).catch(String);
      return now === body ? [] : [`The route ${body} is now ${now}`];
    }),
  );
  return problems.flat();
}
