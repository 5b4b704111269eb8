import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { CreateRouteRequestSchema, RouteSchema } from './gen/routing/v1/route_service_pb.js';
import { describeValue, isObject, requireKnown, unicodeText } from './input.js';

/**
 * The part of a route that its creator chooses; a stored route is a definition, too, whose `id` and `createdAt` are not
 * sent. The service checks it; lengths count Unicode code points.
 */
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

/** The fields of a definition, and those of a stored route, which is a definition, too. */
const FIELDS = ['method', 'path', 'middleware', 'handler', 'id', 'createdAt'];

interface CreateRequestOptions {
  /** Undefined for none. */
  readonly idempotencyKey: string | undefined;
  readonly validateOnly: boolean;
}

/**
 * The request that creates a route, or with `validateOnly` only checks it, encoded.
 *
 * @throws RangeError when the definition is not an object or has an unknown field, a text is not text, or UTF-8 cannot
 *   encode it
 */
export function createRequest(
  definition: RouteDefinition,
  { idempotencyKey = '', validateOnly }: CreateRequestOptions,
): Uint8Array {
  if (!isObject(definition))
    throw new RangeError(`The definition must be an object, not ${describeValue(definition)}.`);
  requireKnown('field', definition, FIELDS);
  const { method, path, middleware = [], handler } = definition;
  if (!Array.isArray(middleware))
    throw new RangeError(`middleware must be an array, not ${describeValue(middleware)}.`);
  const route = {
    method: unicodeText('method', method),
    path: unicodeText('path', path),
    middleware: middleware.map((name, index) => unicodeText(`middleware[${index}]`, name)),
    handler: unicodeText('handler', handler),
  };
  const request = create(CreateRouteRequestSchema, { route, requestId: idempotencyKey, validateOnly });
  return toBinary(CreateRouteRequestSchema, request);
}

/** @throws Error when the reply is not a stored route */
export function storedRoute(reply: Uint8Array): Route {
  const { id, method, path, middleware, handler, createdAt } = fromBinary(RouteSchema, reply);
  if (createdAt === undefined) throw new Error('A stored route without a time of creation.');
  return { id, method, path, middleware, handler, createdAt: timestampDate(createdAt) };
}

/** The response to a dry run. @throws Error when the reply is not a route */
export function checkedRoute(reply: Uint8Array): CheckedRoute {
  const { method, path, middleware, handler } = fromBinary(RouteSchema, reply);
  return { method, path, middleware, handler };
}
