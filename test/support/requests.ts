import type { CreateRouteRequest, Route } from '../../src/gen/routing/v1/route_service.js';
import { type Service, tokenFor } from './service.js';

export type { CreateRouteRequest, Route };

/** The fields of a route that a client sets in a create. */
export const DEFINITION = {
  method: 'GET',
  path: '/users/:id',
  middleware: [] as string[],
  handler: 'getUser',
};

/** The request of a create over gRPC. Fields that are not given are empty. */
export function requestOf(
  route: Partial<Route> = DEFINITION,
  rest: Partial<CreateRouteRequest> = {},
): CreateRouteRequest {
  const empty = { id: '', method: '', path: '', middleware: [], handler: '', createdAt: undefined };
  return { route: { ...empty, ...route }, requestId: '', validateOnly: false, ...rest };
}

/** Creates a route over REST. @param query starts with a question mark; default: none */
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
