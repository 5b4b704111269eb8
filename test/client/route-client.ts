import {
  createRouteClient,
  type RouteClient,
  RouteClientError,
  type RouteClientOptions,
} from '@route-registry/client';
import { onTestFinished } from 'vitest';
import { tokenFor } from '../support/service.js';

export const DEFINITION = {
  method: 'GET',
  path: '/users/:id',
  middleware: ['authenticate'],
  handler: 'getUser',
};

/** A client, by default with everything as its package has it, closed with the test. */
export function routeClient(target: string, options: Partial<RouteClientOptions> = {}): RouteClient {
  const client = createRouteClient(target, { token: tokenFor(), ...options });
  onTestFinished(() => {
    client.close();
  });
  return client;
}

/** The failure of a call that must fail. */
export async function failureOf(call: Promise<unknown>): Promise<RouteClientError> {
  const outcome: unknown = await call.then(
    () => 'no failure',
    (error: unknown) => error,
  );
  if (!(outcome instanceof RouteClientError))
    throw new Error('It did not fail as it must.', { cause: outcome });
  return outcome;
}
