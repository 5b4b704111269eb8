import { create, toBinary } from '@bufbuild/protobuf';
import type { Metadata } from '@grpc/grpc-js';
import type { CallOptions, CreateOptions, StoreOptions } from './call-options.js';
import { Caller } from './caller.js';
import { openChannel, type RouteClientOptions } from './channel.js';
import { GetRouteRequestSchema, RouteService } from './gen/routing/v1/route_service_pb.js';
import type { CheckedRoute, Route, RouteDefinition, StoredCreate } from './route.js';
import { checkedRoute, createRequest, storedRoute } from './route.js';
import { unicodeText } from './text.js';

/** The interface of the Route Registry. Every method rejects with a `RouteClientError`. */
export interface RouteClient {
  /**
   * Stores a new route. The request carries an idempotency key, so no attempt stores a second route.
   *
   * With `validateOnly`, nothing is stored, and the result has no `id` and no `createdAt`.
   *
   * Errors: `INVALID_ARGUMENT` (`fieldViolations` names each invalid field), `ALREADY_EXISTS` (`REQUEST_ID_REUSED`:
   * another route was created with this key; `ROUTE_EXISTS`, if the service refuses duplicates), and those of every
   * call.
   */
  createRoute(definition: RouteDefinition, options?: Stored): Promise<Route>;
  createRoute(definition: RouteDefinition, options: DryRun): Promise<CheckedRoute>;
  createRoute(definition: RouteDefinition, options?: CreateOptions): Promise<Route | CheckedRoute>;

  /** Stores a new route as `createRoute` does, and says whether an earlier request had stored it. */
  createRouteOnce(definition: RouteDefinition, options?: StoreOptions): Promise<StoredCreate>;

  /**
   * Returns the route with this identifier.
   *
   * Errors: `NOT_FOUND`, and those of every call: `UNAUTHENTICATED`, `PERMISSION_DENIED`, `RESOURCE_EXHAUSTED`,
   * `UNAVAILABLE`, `DEADLINE_EXCEEDED`, `CANCELLED`, `INTERNAL`.
   */
  getRoute(id: string, options?: CallOptions): Promise<Route>;

  /** Closes the connections after the calls in progress. Later calls fail with `UNAVAILABLE`. */
  close(): void;
}

interface Stored extends StoreOptions {
  readonly validateOnly?: false | undefined;
}

interface DryRun extends CreateOptions {
  readonly validateOnly: true;
}

/**
 * Creates a client of the Route Registry, which connects at the first call. Create one client and reuse it.
 *
 * @param target a target of grpc-js: `host:port`, `dns:///host:port`, `unix:/path`, or several addresses, such as
 *   `ipv4:10.0.0.1:50051,10.0.0.2:50051`, over which the calls are spread evenly
 * @throws Error when the target is a URL, grpc-js cannot read the target or a certificate, there is no token, or an
 *   option is unknown or has the wrong type
 */
export function createRouteClient(target: string, options: RouteClientOptions): RouteClient {
  return new CallingRouteClient(new Caller(openChannel(target, options), options));
}

/** The trailer of a create that repeats an earlier one: `true`. */
const REPLAYED = 'idempotent-replayed';

class CallingRouteClient implements RouteClient {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  createRoute(definition: RouteDefinition, options?: Stored): Promise<Route>;
  createRoute(definition: RouteDefinition, options: DryRun): Promise<CheckedRoute>;
  createRoute(definition: RouteDefinition, options?: CreateOptions): Promise<Route | CheckedRoute>;
  createRoute(definition: RouteDefinition, options?: CreateOptions): Promise<Route | CheckedRoute> {
    const method = RouteService.method.createRoute;
    const request = (checked: CreateOptions) => createRequest(definition, checked);
    const result = options?.validateOnly === true ? checkedRoute : storedRoute;
    return this.#caller.call({ method, request, result }, options);
  }

  createRouteOnce(definition: RouteDefinition, options?: StoreOptions): Promise<StoredCreate> {
    const method = RouteService.method.createRoute;
    const request = (checked: CreateOptions): Uint8Array => {
      if (checked.validateOnly === true)
        throw new RangeError('createRouteOnce stores the route; validateOnly is an option of createRoute.');
      return createRequest(definition, checked);
    };
    const result = (reply: Uint8Array, trailers: Metadata): StoredCreate => ({
      route: storedRoute(reply),
      replayed: trailers.get(REPLAYED)[0] === 'true',
    });
    return this.#caller.call({ method, request, result }, options);
  }

  getRoute(id: string, options?: CallOptions): Promise<Route> {
    const method = RouteService.method.getRoute;
    const request = (): Uint8Array =>
      toBinary(GetRouteRequestSchema, create(GetRouteRequestSchema, { routeId: unicodeText('id', id) }));
    return this.#caller.call({ method, request, result: storedRoute }, options);
  }

  close(): void {
    this.#caller.close();
  }
}
