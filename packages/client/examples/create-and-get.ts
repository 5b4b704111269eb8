import { createRouteClient, type Route, RouteClientError } from '@route-registry/client';

/** Creates a route and reads it back. */
export async function createAndGet(target: string, token: string): Promise<Route> {
  const client = createRouteClient(target, { token });
  try {
    const created = await client.createRoute({
      method: 'GET',
      path: '/users/:id',
      middleware: ['authenticate'],
      handler: 'getUser',
    });
    return await client.getRoute(created.id);
  } catch (error) {
    if (error instanceof RouteClientError && error.status === 'INVALID_ARGUMENT') {
      for (const { field, description } of error.fieldViolations) console.error(`${field}: ${description}`);
    }
    throw error;
  } finally {
    client.close();
  }
}
