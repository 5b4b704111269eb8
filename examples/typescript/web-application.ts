/**
 * A web application that registers its routes at startup and serves the routes that the registry returns.
 *
 * Environment: `TOKEN`, a bearer token; `GRPC`, the target of the registry (default `127.0.0.1:50051`); `PORT` (default
 * 3000).
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRouteClient, type Route, type RouteClient, RouteClientError } from '@route-registry/client';

type Parameters = Readonly<Record<string, string>>;

const HANDLERS: Readonly<Record<string, (parameters: Parameters) => unknown>> = {
  getUser: ({ id }) => ({ id, name: `User ${id}` }),
  listTasks: ({ user }) => [{ user, title: 'Read the examples' }],
};

/** The registry keeps idempotency keys forever, so a restart gets the same routes again. */
const DEFINITIONS = [
  { idempotencyKey: 'web-application/1/getUser', method: 'GET', path: '/users/:id', handler: 'getUser' },
  {
    idempotencyKey: 'web-application/1/listTasks',
    method: 'GET',
    path: '/users/:user/tasks',
    handler: 'listTasks',
  },
];

function register(registry: RouteClient): Promise<Route[]> {
  return Promise.all(
    DEFINITIONS.map(({ idempotencyKey, ...definition }) =>
      registry.createRoute(definition, { idempotencyKey }),
    ),
  );
}

/** One of the patterns above as a regular expression: each parameter is a whole segment, and becomes a named group. */
function expressionOf({ path }: Route): RegExp {
  const segments = path
    .split('/')
    .map((segment) =>
      segment.startsWith(':') ? `(?<${segment.slice(1)}>[^/]+)` : segment.replace(/[^\w]/g, String.raw`\$&`),
    );
  return new RegExp(`^${segments.join('/')}$`);
}

function serve(routes: readonly Route[]): Server {
  const known = routes.map((route) => ({ ...route, expression: expressionOf(route) }));
  return createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    const route = known.find(({ method, expression }) => method === request.method && expression.test(path));
    const answer = route && HANDLERS[route.handler]?.(route.expression.exec(path)?.groups ?? {});
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? { error: 'No such page.' }));
  });
}

const registry = createRouteClient(process.env['GRPC'] ?? '127.0.0.1:50051', {
  token: process.env['TOKEN'] ?? '',
});
try {
  const routes = await register(registry);
  for (const { id, method, path, handler } of routes) console.log(`${method} ${path} → ${handler} (${id})`);
  const server = serve(routes).listen(Number(process.env['PORT'] ?? 3_000), '127.0.0.1', () => {
    console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
} catch (error) {
  if (!(error instanceof RouteClientError)) throw error;
  console.error(`The routes cannot be registered: ${error.status}: ${error.message}`);
  for (const { field, description } of error.fieldViolations) console.error(`  ${field}: ${description}`);
  process.exitCode = 1;
} finally {
  registry.close();
}
