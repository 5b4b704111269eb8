import type { CreateRouteRequest, Route } from '../../src/gen/routing/v1/route_service.js';
import { type Service, tokenFor } from './service.js';

export type { CreateRouteRequest, Route };

/** What a client says of a route that it creates. */
export const DEFINITION = {
  method: 'GET',
  path: '/users/:id',
  middleware: [] as string[],
  handler: 'getUser',
};

/** A create over gRPC of a route with these fields alone. */
export function requestOf(
  route: Partial<Route> = DEFINITION,
  rest: Partial<CreateRouteRequest> = {},
): CreateRouteRequest {
  const empty = { id: '', method: '', path: '', middleware: [], handler: '', createdAt: undefined };
  return { route: { ...empty, ...route }, requestId: '', validateOnly: false, ...rest };
}

/** A create over REST. @param query with its question mark */
export function post(
  { httpUrl }: Pick<Service, 'httpUrl'>,
  route: unknown = DEFINITION,
  headers: Readonly<Record<string, string>> = {},
  query = '',
): Promise<Response> {
  return fetch(`${httpUrl}/v1/routing${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokenFor()}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(route),
  });
}

/** The status of `GET /healthz`. */
export async function healthOf({ httpUrl }: Pick<Service, 'httpUrl'>): Promise<number> {
  return (await fetch(`${httpUrl}/healthz`)).status;
}
