import type { RouteClient, RouteClientOptions } from '@route-registry/client';
import { clientFor } from '../../packages/client/test/support/test-client.js';
import { tokenFor } from '../support/service.js';

/** A client with a token that the service accepts, and by default everything else as its package has it. */
export function routeClient(target: string, options: Partial<RouteClientOptions> = {}): RouteClient {
  return clientFor(target, { token: tokenFor(), ...options });
}
