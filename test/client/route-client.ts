import type { RouteClient, RouteClientOptions } from '@route-registry/client';
import { clientFor } from '../../packages/client/test/support/test-client.js';
import { tokenFor } from '../support/service.js';

/** Creates a client with a token that the service accepts. It is closed with the test. */
export function routeClient(target: string, options: Partial<RouteClientOptions> = {}): RouteClient {
  return clientFor(target, { token: tokenFor(), ...options });
}
