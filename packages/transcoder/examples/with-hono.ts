import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Transcoder } from '@route-registry/transcoder';
import type { Hono } from 'hono';

/** Serves a contract behind the middleware of an application; the result is the `fetch` for `serve` of `@hono/node-server`. */
export function withHono({ handler }: Transcoder, app: Hono<{ Bindings: HttpBindings }>) {
  const admitted = new WeakSet();
  app.all('*', (context) => {
    admitted.add(context.env.incoming);
    return context.body(null);
  });
  return async (request: Request, env: HttpBindings): Promise<Response> => {
    const response = await app.fetch(request, env);
    const { incoming, outgoing } = env;
    if (!admitted.has(incoming)) return response;
    // Also those that middleware adds when the handler has returned.
    outgoing.setHeaders(response.headers);
    handler(incoming, outgoing);
    return RESPONSE_ALREADY_SENT;
  };
}
