import type { JsonValue } from '@bufbuild/protobuf';
import type { CreateRouteRequest, GetRouteRequest, Route } from '../gen/routing/v1/route_service.js';
import { PATH_MAX, PATH_SYNTAX } from '../registry/path-pattern.js';
import { REQUEST_ID_MAX, REQUEST_ID_SYNTAX } from '../registry/registry.js';
import { METHOD_MAX, METHOD_SYNTAX, MIDDLEWARE_MAX, NAME_MAX, NAME_SYNTAX } from '../registry/route.js';
import type { Schema } from './open-api.js';

/**
 * The facts of a field that its type in the contract does not express: its bounds, from the domain, and an
 * example.
 */
interface FieldFacts {
  readonly bounds?: Schema;
  /** Bounds of each item of a repeated field. */
  readonly itemBounds?: Schema;
  readonly example: JsonValue;
}

/** The identifier of the route in all examples. */
export const ROUTE_ID = '019aa1c3-5b7e-7d3a-9f41-6c2d8e0b7a54';

const route = {
  id: { example: ROUTE_ID },
  method: { bounds: text(METHOD_MAX, METHOD_SYNTAX), example: 'GET' },
  path: { bounds: text(PATH_MAX, PATH_SYNTAX), example: '/users/:id' },
  middleware: {
    bounds: { maxItems: MIDDLEWARE_MAX },
    itemBounds: text(NAME_MAX, NAME_SYNTAX),
    example: ['authenticate', 'audit'],
  },
  handler: { bounds: text(NAME_MAX, NAME_SYNTAX), example: 'getUser' },
  createdAt: { example: '2025-11-20T14:30:05.246Z' },
} satisfies Record<keyof Route, FieldFacts>;

/** The bounds of request ids, those of calls and of safe repeats alike. */
export const REQUEST_ID_BOUNDS = text(REQUEST_ID_MAX, REQUEST_ID_SYNTAX);

const createRouteRequest = {
  requestId: {
    bounds: REQUEST_ID_BOUNDS,
    example: '5f0c2a9e-1b7d-4c3f-8a26-90d4e7b1c385',
  },
} satisfies Partial<Record<keyof CreateRouteRequest, FieldFacts>>;

const getRouteRequest = {
  routeId: { bounds: { minLength: 1 }, example: ROUTE_ID },
} satisfies Partial<Record<keyof GetRouteRequest, FieldFacts>>;

/** The facts of each message, by the JSON names of its fields. */
const messages: Readonly<Record<string, Readonly<Record<string, FieldFacts>>>> = {
  'routing.v1.Route': route,
  'routing.v1.CreateRouteRequest': createRouteRequest,
  'routing.v1.GetRouteRequest': getRouteRequest,
};

/** The known facts of a message's field; undefined if its type expresses everything. */
export function factsOf(message: string, jsonName: string): FieldFacts | undefined {
  return messages[message]?.[jsonName];
}

function text(maxLength: number, syntax: RegExp): Schema {
  return { minLength: 1, maxLength, pattern: syntax.source };
}
