import { create, toBinary } from '@bufbuild/protobuf';
import type { CallOptions, CreateOptions } from './call-options.js';
import { CallSender, type UnaryCall } from './call-sender.js';
import { openChannel, type RouteClientOptions } from './channel.js';
import { GetRouteRequestSchema, RouteService } from './gen/routing/v1/route_service_pb.js';
import type { CheckedRoute, Route, RouteDefinition, StoredCreate } from './route.js';
import { checkedRoute, createRequest, storedRoute } from './route.js';
import { unicodeText } from './input.js';

/** The interface of the Route Registry. Every method rejects with a `RouteClientError`. */
export interface RouteClient {
  /**
   * Stores a new route. The request carries an idempotency key, so no attempt stores a second route.
   *
   * Errors: `INVALID_ARGUMENT` (`fieldViolations` names each invalid field), `ALREADY_EXISTS` (`REQUEST_ID_REUSED`:
   * another route was created with this key; `ROUTE_EXISTS`, if the service refuses duplicates), and those of every
   * call.
   */
  createRoute(definition: RouteDefinition, options?: CreateOptions): Promise<Route>;

  /** Stores a new route as `createRoute` does, and says whether an earlier request had stored it. */
  createRouteOnce(definition: RouteDefinition, options?: CreateOptions): Promise<StoredCreate>;

  /**
   * Runs every check of a create and stores nothing: the result has no `id` and no `createdAt`. Its errors are those of
   * `createRoute`; a key is sent only if the options have one.
   */
  checkRoute(definition: RouteDefinition, options?: CreateOptions): Promise<CheckedRoute>;

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

/**
 * Creates a client of the Route Registry, which connects at the first call. Create one client and reuse it.
 *
 * @param target a target of grpc-js: `host:port`, `dns:///host:port`, `unix:/path`, or several addresses, such as
 *   `ipv4:10.0.0.1:50051,10.0.0.2:50051`, over which the calls are spread evenly
 * @throws Error when the target is a URL, grpc-js cannot read the target or a certificate, there is no token, or an
 *   option is unknown or has the wrong type
 */
export function createRouteClient(target: string, options: RouteClientOptions): RouteClient {
  return new GrpcRouteClient(new CallSender(openChannel(target, options), options));
}

/** The trailer of a create that repeats an earlier create: `true`. */
const REPLAYED = 'idempotent-replayed';

class GrpcRouteClient implements RouteClient {
  readonly #sender: CallSender;

  constructor(sender: CallSender) {
    this.#sender = sender;
  }

  async createRoute(definition: RouteDefinition, options?: CreateOptions): Promise<Route> {
    return (await this.createRouteOnce(definition, options)).route;
  }

  createRouteOnce(definition: RouteDefinition, options?: CreateOptions): Promise<StoredCreate> {
    const create: UnaryCall<StoredCreate> = {
      method: RouteService.method.createRoute,
      keyPolicy: 'always',
      request: (idempotencyKey) => createRequest(definition, { idempotencyKey, validateOnly: false }),
      result: (reply, trailers) => ({
        route: storedRoute(reply),
        replayed: trailers.get(REPLAYED)[0] === 'true',
      }),
    };
    return this.#sender.send(create, options);
  }

  checkRoute(definition: RouteDefinition, options?: CreateOptions): Promise<CheckedRoute> {
    const check: UnaryCall<CheckedRoute> = {
      method: RouteService.method.createRoute,
      keyPolicy: 'optional',
      request: (idempotencyKey) => createRequest(definition, { idempotencyKey, validateOnly: true }),
      result: checkedRoute,
    };
    return this.#sender.send(check, options);
  }

  getRoute(id: string, options?: CallOptions): Promise<Route> {
    const get: UnaryCall<Route> = {
      method: RouteService.method.getRoute,
      keyPolicy: 'never',
      request: () => {
        const request = create(GetRouteRequestSchema, { routeId: unicodeText('id', id) });
        return toBinary(GetRouteRequestSchema, request);
      },
      result: storedRoute,
    };
    return this.#sender.send(get, options);
  }

  close(): void {
    this.#sender.close();
  }
}
