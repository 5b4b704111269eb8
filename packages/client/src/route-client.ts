import { create } from '@bufbuild/protobuf';
import { requireToken } from './bearer-token.js';
import type { CallOptions } from './call-options.js';
import { openChannel, type RouteClientOptions } from './channel.js';
import { GetRouteRequestSchema, RouteService } from './gen/routing/v1/route_service_pb.js';
import {
  type CheckedRoute,
  checkedRoute,
  createRequest,
  type Route,
  type RouteDefinition,
  storedRoute,
} from './route.js';
import { unicodeText } from './text.js';
import { UnaryCaller } from './unary-caller.js';

/** Options of a create. */
export interface CreateOptions extends CallOptions {
  /** Whether to run every check and store nothing. Default: false. */
  readonly validateOnly?: boolean | undefined;
}

/** The interface of the Route Registry. Every method rejects with a `RouteClientError`. */
export interface RouteClient {
  /**
   * Stores a new route. The request carries a request id, so no retry stores a second route.
   *
   * With `validateOnly`, nothing is stored, and the result has no `id` and no `createdAt`.
   *
   * Errors: `INVALID_ARGUMENT` (`fieldViolations` names each invalid field), `ALREADY_EXISTS` (`REQUEST_ID_REUSED`:
   * another route was created with this id; `ROUTE_EXISTS`, if the service refuses duplicates), and those of every
   * call.
   */
  createRoute(
    definition: RouteDefinition,
    options?: CreateOptions & { readonly validateOnly?: false | undefined },
  ): Promise<Route>;
  createRoute(
    definition: RouteDefinition,
    options: CreateOptions & { readonly validateOnly: true },
  ): Promise<CheckedRoute>;

  /**
   * Returns the route with this identifier.
   *
   * Errors: `NOT_FOUND`, and those of every call: `UNAUTHENTICATED`, `PERMISSION_DENIED`, `RESOURCE_EXHAUSTED`,
   * `UNAVAILABLE`, `DEADLINE_EXCEEDED`, `CANCELLED`, `INTERNAL`.
   */
  getRoute(id: string, options?: CallOptions): Promise<Route>;

  /** Closes the connections. Calls in progress finish, but are not retried; later calls fail with `UNAVAILABLE`. */
  close(): void;
}

/**
 * Creates a client of the Route Registry, which connects at the first call. Create one client and reuse it.
 *
 * @param target a target of grpc-js: `host:port`, `dns:///host:port`, `unix:/path`, or several addresses, such as
 *   `ipv4:10.0.0.1:50051,10.0.0.2:50051`, over which the calls are spread evenly
 * @throws Error when the target is a URL, grpc-js cannot read the target or a certificate, or there is no token
 */
export function createRouteClient(target: string, options: RouteClientOptions): RouteClient {
  requireToken(options.token);
  return new GrpcRouteClient(new UnaryCaller(openChannel(target, options), options.token));
}

class GrpcRouteClient implements RouteClient {
  readonly #caller: UnaryCaller;

  constructor(caller: UnaryCaller) {
    this.#caller = caller;
  }

  createRoute(
    definition: RouteDefinition,
    options?: CreateOptions & { readonly validateOnly?: false | undefined },
  ): Promise<Route>;
  createRoute(
    definition: RouteDefinition,
    options: CreateOptions & { readonly validateOnly: true },
  ): Promise<CheckedRoute>;
  createRoute(
    definition: RouteDefinition,
    { validateOnly = false, ...options }: CreateOptions = {},
  ): Promise<CheckedRoute> {
    const method = {
      method: RouteService.method.createRoute,
      request: (requestId: string) => createRequest(definition, requestId, validateOnly),
    };
    return validateOnly
      ? this.#caller.call({ ...method, result: checkedRoute }, options)
      : this.#caller.call({ ...method, result: storedRoute }, options);
  }

  getRoute(id: string, options: CallOptions = {}): Promise<Route> {
    const method = RouteService.method.getRoute;
    const request = () => create(GetRouteRequestSchema, { routeId: unicodeText('id', id) });
    return this.#caller.call({ method, request, result: storedRoute }, options);
  }

  close(): void {
    this.#caller.close();
  }
}
