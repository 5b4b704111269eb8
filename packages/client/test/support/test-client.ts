import { onTestFinished } from 'vitest';
import {
  createRouteClient,
  type RouteClient,
  RouteClientError,
  type RouteClientOptions,
} from '../../src/index.js';

export const DEFINITION = {
  method: 'GET',
  path: '/users/:id',
  middleware: ['authenticate'],
  handler: 'getUser',
};

/** A client that is closed when the test ends. */
export function clientFor(target: string, options: Partial<RouteClientOptions> = {}): RouteClient {
  const client = createRouteClient(target, { token: 'a.good.token', ...options });
  onTestFinished(() => {
    client.close();
  });
  return client;
}

/** The failure of a call that must fail. */
export async function failureOf(call: Promise<unknown>): Promise<RouteClientError> {
  const outcome: unknown = await call.catch((error: unknown) => error);
  if (!(outcome instanceof RouteClientError))
    throw new Error('It did not fail as it must.', { cause: outcome });
  return outcome;
}
