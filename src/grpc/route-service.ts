import {
  type CreateRouteRequest,
  type Route as RouteMessage,
  RouteServiceDefinition,
} from '../gen/routing/v1/route_service.js';
import type { CreateCommand, Registry } from '../registry/registry.js';
import type { Route, RouteDefinition } from '../registry/route.js';
import { type HandlerContext, IDEMPOTENCY_KEY, IDEMPOTENT_REPLAYED, type Method } from '../calls/call.js';
import type { MessageCache } from '../calls/message-cache.js';
import { implement } from '../calls/service.js';

type IdempotencyKey = CreateCommand['idempotencyKeys'][number];

/** The scope that permits each kind of call. */
export interface Scopes {
  readonly read: string;
  readonly write: string;
}

/** The scopes of a deployment that has not renamed them. */
export const DEFAULT_SCOPES: Scopes = { read: 'routes:read', write: 'routes:write' };

/** The scope that each method requires. */
export function requiredScopes({ read, write }: Scopes) {
  return { createRoute: write, getRoute: read } satisfies Record<
    keyof typeof RouteServiceDefinition.methods,
    string
  >;
}

/**
 * The methods of `routing.v1.RouteService` over the registry, each with the scope that it requires.
 *
 * @param cache for encoded routes
 * @param scopes the names of the scopes in tokens
 */
export function routeService(registry: Registry, cache: MessageCache, scopes: Scopes): Method[] {
  const required = requiredScopes(scopes);
  return implement(RouteServiceDefinition, {
    createRoute: {
      access: { scope: required.createRoute },
      handle: async (request, context) => {
        const command = toCommand(request, context);
        if (request.validateOnly) return toUnstoredMessage(await registry.check(command, context.signal));
        const { route, replayed } = await registry.create(command, context.signal);
        if (replayed) context.trailers.set(IDEMPOTENT_REPLAYED, 'true');
        return toMessage(route);
      },
    },
    getRoute: {
      access: { scope: required.getRoute },
      handle: async ({ routeId }, { signal }) => toMessage(await registry.get(routeId, signal)),
      // Only ids that were found become keys, and the service itself generated those.
      caching: { cache, keyOf: ({ routeId }) => routeId },
    },
  });
}

function toCommand(request: CreateRouteRequest, { metadata, caller }: HandlerContext): CreateCommand {
  if (caller === undefined) throw new Error('A method that needs a scope was reached without a caller.');
  const { method = '', path = '', middleware = [], handler = '' } = request.route ?? {};

  const idempotencyKeys: IdempotencyKey[] = [];
  if (request.requestId !== '') idempotencyKeys.push({ field: 'request_id', value: request.requestId });
  for (const value of metadata.get(IDEMPOTENCY_KEY))
    idempotencyKeys.push({ field: IDEMPOTENCY_KEY, value: String(value) });

  return {
    definition: { method, path, middleware, handler },
    caller: caller.subject,
    idempotencyKeys,
  };
}

function toMessage({ id, method, path, middleware, handler, createdAt }: Route): RouteMessage {
  return { id, method, path, middleware: [...middleware], handler, createdAt };
}

function toUnstoredMessage(definition: RouteDefinition): RouteMessage {
  return { ...definition, middleware: [...definition.middleware], id: '', createdAt: undefined };
}
