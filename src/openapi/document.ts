import {
  describe,
  type DescriptionOptions,
  type FailureFacts,
  type FieldFacts,
  type HeaderFacts,
  type OpenApi,
  type Operation,
  type Response,
} from '@route-registry/transcoder/openapi';
import { documentPages, type Page } from '@route-registry/transcoder/page';
import type { Reason } from '../calls/call.js';
import { codeNameOf } from '../calls/failures.js';
import { TRANSCODING } from '../gateway/transcoding.js';
import { comments } from '../gen/comments.js';
import { descriptorSet } from '../gen/descriptor-set.js';
import type { HealthCheckResponse_ServingStatus } from '../gen/healthcheck.js';
import {
  type CreateRouteRequest,
  type GetRouteRequest,
  type Route,
  RouteServiceDefinition,
} from '../gen/routing/v1/route_service.js';
import { DEFAULT_SCOPES, requiredScopes } from '../grpc/route-service.js';
import { PATH_MAX, PATH_SYNTAX } from '../registry/path-pattern.js';
import { CLIENT_ID_MAX, CLIENT_ID_SYNTAX } from '../registry/registry.js';
import { METHOD_MAX, METHOD_SYNTAX, MIDDLEWARE_MAX, NAME_MAX, NAME_SYNTAX } from '../registry/route.js';

const { fullName, methods } = RouteServiceDefinition;

const SCOPES = requiredScopes(DEFAULT_SCOPES);

const BEARER = 'bearer';

const TOKEN_COMMAND = `npm run --silent token -- --scope "${DEFAULT_SCOPES.read} ${DEFAULT_SCOPES.write}" --sub me`;

/** First steps for someone who reads the document as a web page. */
const FIRST_STEPS = `1. Get a token with \`${TOKEN_COMMAND}\`
   in the folder of the service, or from its issuer.
2. Click **Authorize** and paste the token, without the word Bearer.
3. Open an operation, click **Execute**.`;

const HOW_TO_GET_TOKEN =
  `A JWT (RFC 7519) with \`exp\`, \`sub\`, \`iss\` and \`aud\`, and its scopes in \`scope\` or \`scp\`. A deployment may
give other names to its scopes and to these two claims; an error then names the scope that is missing. Get a token from the
issuer that the service trusts or, for a service with a secret, with \`${TOKEN_COMMAND}\` in its folder. In a form that
asks for the token, paste it alone, without the word Bearer.`.replaceAll('\n', ' ');

/** The REST interface in OpenAPI 3.1, without a base path. */
export function describeService(): OpenApi {
  const document = describe({
    ...TRANSCODING,
    descriptorSet,
    info: { title: 'Route Registry', description: `${comments['routing.v1'] ?? ''}\n\n${FIRST_STEPS}` },
    comments: inWordsOfRest(comments),
    facts,
    headers,
    failures,
    security: {
      schemes: {
        [BEARER]: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: HOW_TO_GET_TOKEN },
      },
      requirements: [{ [BEARER]: [] }],
      methods: Object.fromEntries(
        Object.entries(SCOPES).map(([name, scope]) => [
          `${fullName}.${methods[name as keyof typeof SCOPES].name}`,
          [{ [BEARER]: [scope] }],
        ]),
      ),
    },
  });
  return {
    ...document,
    tags: [...document.tags, HEALTH_TAG],
    paths: { ...document.paths, '/healthz': { get: healthOperation } },
  };
}

/** The document at `/openapi.json`, and at `/docs` an interactive page of it with its resources. */
export function createDocuments(): readonly Page[] {
  // Where the document is: under the base path, and any prefix of a proxy.
  const servers = [{ url: '.', description: 'This service.' }];
  return documentPages(() => ({ ...describeService(), servers }));
}

/** Adapts the contract's comments to REST: metadata is called a header, and references to Google's AIPs are omitted. */
function inWordsOfRest(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [
      name,
      text.replace(/\bmetadata(?=\s+`)/g, 'header').replace(/\s+\(AIP-\d+\)/g, ''),
    ]),
  );
}

/** The tag of operations outside the contract. */
const HEALTH_TAG = { name: 'Health', description: 'Whether the service can serve requests.' };

const RETRY_AFTER = {
  description: 'The number of seconds to wait before a retry.',
  required: true,
  schema: { type: 'integer', minimum: 0 },
  example: 1,
};

/** The health check of the whole server, which the gateway serves in addition to the contract's paths. */
const healthOperation: Operation = {
  operationId: 'checkHealth',
  tags: [HEALTH_TAG.name],
  summary: 'Reports whether the service can serve requests',
  description: 'For load balancers and monitors. Needs no token.',
  security: [],
  parameters: [{ $ref: '#/components/parameters/X-Request-Id' }],
  responses: {
    200: health('SERVING', 'The service can serve requests.'),
    429: { $ref: '#/components/responses/Error429' },
    503: health('NOT_SERVING', 'The service cannot serve requests, or does not answer.', {
      'Retry-After': RETRY_AFTER,
    }),
    default: { $ref: '#/components/responses/Error' },
  },
};

function health(
  status: Extract<keyof typeof HealthCheckResponse_ServingStatus, 'SERVING' | 'NOT_SERVING'>,
  description: string,
  further: Response['headers'] = {},
): Response {
  const properties = { status: { type: 'string', const: status } };
  const schema = { type: 'object', required: ['status'], properties };
  return {
    description,
    headers: {
      'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' },
      'Cache-Control': { $ref: '#/components/headers/NoStore' },
      ...further,
    },
    content: { 'application/json': { schema, examples: { [status]: { value: { status } } } } },
  };
}

/** The identifier of the route in all examples, which holds the time of its creation. */
const ROUTE_ID = '01a210f7-ba5c-7c33-a1b5-0f4a1b0b4c1e';

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
  createdAt: { example: '2026-11-25T04:30:00.284Z', present: true },
} satisfies Record<keyof Route, FieldFacts>;

/** The bounds of request ids, both of calls and of idempotent creates. */
const REQUEST_ID_BOUNDS = text(CLIENT_ID_MAX, CLIENT_ID_SYNTAX);

/** Bounds from the domain model, and examples: what the field types do not express. */
const facts: NonNullable<DescriptionOptions['facts']> = {
  'routing.v1.Route': route,
  'routing.v1.CreateRouteRequest': {
    requestId: { bounds: REQUEST_ID_BOUNDS, example: '5f0c2a9e-1b7d-4c3f-8a26-90d4e7b1c385' },
  } satisfies Partial<Record<keyof CreateRouteRequest, FieldFacts>>,
  'routing.v1.GetRouteRequest': {
    routeId: { bounds: { minLength: 1 }, example: ROUTE_ID },
  } satisfies Partial<Record<keyof GetRouteRequest, FieldFacts>>,
};

/** The headers that have a meaning specific to this service. */
const headers: Readonly<Record<string, HeaderFacts>> = {
  'X-Request-Id': {
    description:
      'The id of the call in the log, in errors and in the response. Default: a new id, which also replaces a malformed one.',
    bounds: REQUEST_ID_BOUNDS,
  },
  'Idempotency-Key': {
    description: 'The same as `requestId`, as a header. If both are given, they must agree.',
    field: 'request_id',
  },
  'Idempotent-Replayed': {
    description:
      'Sent if an earlier request with the same `requestId` stored the route, perhaps an earlier attempt of the same one.',
    bounds: { const: 'true' },
    field: 'request_id',
  },
};

function text(maxLength: number, syntax: RegExp) {
  // JavaScript escapes a slash only for its own literals, and some generators would escape the backslash again.
  return { minLength: 1, maxLength, pattern: syntax.source.replaceAll('\\/', '/') };
}

/** The reasons that every method may give, and those of the methods whose comments name them. */
const OF_EVERY_METHOD: readonly Reason[] = [
  'ROUTE_INVALID',
  'TOKEN_INVALID',
  'TOKEN_MISSING',
  'SCOPE_MISSING',
  'STORE_UNAVAILABLE',
  'KEYS_UNAVAILABLE',
];
const OF_SOME_METHODS: readonly Reason[] = ['ROUTE_NOT_FOUND', 'ROUTE_EXISTS', 'REQUEST_ID_REUSED'];

/** The server's failures by reason. */
const failures: Readonly<Record<string, FailureFacts>> = Object.fromEntries([
  ...OF_EVERY_METHOD.map((reason) => [reason, { code: codeNameOf(reason), everywhere: true }] as const),
  ...OF_SOME_METHODS.map((reason) => [reason, { code: codeNameOf(reason) }] as const),
]);
