import type { DescriptionOptions, FieldFacts, HeaderFacts } from '@route-registry/transcoder/openapi';
import type { CreateRouteRequest, GetRouteRequest, Route } from '../gen/routing/v1/route_service.js';
import { PATH_MAX, PATH_SYNTAX } from '../registry/path-pattern.js';
import { REQUEST_ID_MAX, REQUEST_ID_SYNTAX } from '../registry/registry.js';
import { METHOD_MAX, METHOD_SYNTAX, MIDDLEWARE_MAX, NAME_MAX, NAME_SYNTAX } from '../registry/route.js';

/** The identifier of the route in all examples. */
export const ROUTE_ID = '019aa1c3-5b7e-7d3a-9f41-6c2d8e0b7a54';

const route = {
  id: { example: ROUTE_ID, present: true },
  method: { bounds: text(METHOD_MAX, METHOD_SYNTAX), example: 'GET' },
  path: { bounds: text(PATH_MAX, PATH_SYNTAX), example: '/users/:id' },
  middleware: {
    bounds: { maxItems: MIDDLEWARE_MAX },
    itemBounds: text(NAME_MAX, NAME_SYNTAX),
    example: ['authenticate', 'audit'],
  },
  handler: { bounds: text(NAME_MAX, NAME_SYNTAX), example: 'getUser' },
  createdAt: { example: '2025-11-20T14:30:05.246Z', present: true },
} satisfies Record<keyof Route, FieldFacts>;

/** The bounds of request ids, both of calls and of idempotent creates. */
const REQUEST_ID_BOUNDS = text(REQUEST_ID_MAX, REQUEST_ID_SYNTAX);

const createRouteRequest = {
  requestId: { bounds: REQUEST_ID_BOUNDS, example: '5f0c2a9e-1b7d-4c3f-8a26-90d4e7b1c385' },
} satisfies Partial<Record<keyof CreateRouteRequest, FieldFacts>>;

const getRouteRequest = {
  routeId: { bounds: { minLength: 1 }, example: ROUTE_ID },
} satisfies Partial<Record<keyof GetRouteRequest, FieldFacts>>;

/** Bounds from the domain model, and examples: what the field types do not express. */
export const facts: NonNullable<DescriptionOptions['facts']> = {
  'routing.v1.Route': route,
  'routing.v1.CreateRouteRequest': createRouteRequest,
  'routing.v1.GetRouteRequest': getRouteRequest,
};

/** The headers that have a meaning specific to this service. */
export const headers: Readonly<Record<string, HeaderFacts>> = {
  'X-Request-Id': {
    description:
      'The id of the call in the log, in errors and in the response. Default: a new id, which also replaces a malformed one.',
    bounds: REQUEST_ID_BOUNDS,
  },
  'Idempotency-Key': {
    description: 'The same as `requestId`, as a header. If both are given, they must agree.',
    field: 'request_id',
  },
};

function text(maxLength: number, syntax: RegExp) {
  return { minLength: 1, maxLength, pattern: syntax.source };
}
