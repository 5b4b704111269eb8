import { create } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import {
  type CreateRouteRequest,
  CreateRouteRequestSchema,
  type Route as RouteMessage,
} from './gen/routing/v1/route_service_pb.js';
import type { CreateOptions } from './call-options.js';
import { isObject, shown, unicodeText } from './text.js';

/** The part of a route that its creator chooses. The service checks it; lengths count Unicode code points. */
export interface RouteDefinition {
  /** HTTP method: an RFC 9110 token of 1 to 32 characters, case-sensitive, stored as given. */
  readonly method: string;
  /**
   * Path pattern of 1 to 2048 visible ASCII characters, stored as given, for example `/users/:id`: begins with `/`, and
   * is written as for a router whose parameters begin with `:`, such as Express.
   */
  readonly path: string;
  /** Names of the middleware to run, in this order: 0 to 64 names of 1 to 255 characters. Default: none. */
  readonly middleware?: readonly string[] | undefined;
  /** Name of the handler function: 1 to 255 characters. */
  readonly handler: string;
}

/** A definition that the service has validated. */
export interface CheckedRoute extends RouteDefinition {
  /** Always present; empty if there is no middleware. */
  readonly middleware: readonly string[];
}

/** A stored route. It never changes, so it may be cached forever. */
export interface Route extends CheckedRoute {
  /** Identifier: an opaque string. */
  readonly id: string;
  /** Time of creation on the service's clock, in whole milliseconds by contract, so a `Date` loses nothing. */
  readonly createdAt: Date;
}

/** The outcome of a create that was stored. */
export interface StoredCreate {
  readonly route: Route;
  /**
   * Whether an earlier request with the same idempotency key had stored the route, perhaps an earlier attempt of the
   * same call.
   */
  readonly replayed: boolean;
}

/**
 * The request that creates a route.
 *
 * @throws RangeError when the definition is not an object, a text is not text, or UTF-8 cannot encode it
 */
export function createRequest(
  definition: RouteDefinition,
  { idempotencyKey = '', validateOnly = false }: CreateOptions,
): CreateRouteRequest {
  if (!isObject(definition))
    throw new RangeError(`The definition must be an object, not ${shown(definition)}.`);
  const { method, path, middleware = [], handler } = definition;
  if (!Array.isArray(middleware))
    throw new RangeError(`middleware must be an array, not ${shown(middleware)}.`);
  const route = {
    method: unicodeText('method', method),
    path: unicodeText('path', path),
    middleware: middleware.map((name, index) => unicodeText(`middleware[${index}]`, name)),
    handler: unicodeText('handler', handler),
  };
  return create(CreateRouteRequestSchema, { route, requestId: idempotencyKey, validateOnly });
}

/** @throws Error when the message is not a stored route */
export function storedRoute(message: RouteMessage): Route {
  if (message.createdAt === undefined) throw new Error('A stored route without a time of creation.');
  return { id: message.id, ...checkedRoute(message), createdAt: timestampDate(message.createdAt) };
}

/** The response to a dry run. */
export function checkedRoute({ method, path, middleware, handler }: RouteMessage): CheckedRoute {
  return { method, path, middleware, handler };
}
