import { readFileSync } from 'node:fs';
import type { CreateOptions, RouteClient, RouteClientError, RouteDefinition } from '@route-registry/client';
import { createTestRouteClient, type ScriptedFailure } from '@route-registry/client/testing';
import { describe, expect, it } from 'vitest';
import { STATUS_OF_REASON } from '../../packages/client/src/memory-caller.js';
import { DEFINITION, failureOf } from '../../packages/client/test/support/test-client.js';
import { runningService } from '../support/running-service.js';
import { tokenFor } from '../support/service.js';
import { routeClient } from './route-client.js';

const OTHER = { ...DEFINITION, handler: 'other' };
const IDS = { requestId: 'log', idempotencyKey: 'key' };

/** Records what a call brings. Returns its value if it succeeds. */
type See = <Value>(call: Promise<Value>) => Promise<Value | undefined>;

const ROWS: readonly [title: string, calls: (client: RouteClient, see: See) => Promise<unknown>][] = [
  [
    'a stored route is got by its id',
    async (client, see) => {
      const created = await see(client.createRoute(DEFINITION));
      await see(client.getRoute(created?.id ?? ''));
    },
  ],
  [
    'creates without a key are stored each',
    async (client, see) => {
      await see(client.createRoute(DEFINITION));
      await see(client.createRoute(DEFINITION));
    },
  ],
  [
    'a key is kept for its first route, and a repeat says so',
    async (client, see) => {
      await see(client.createRouteOnce(DEFINITION, IDS));
      await see(client.createRouteOnce(DEFINITION, IDS));
      await see(client.createRouteOnce(OTHER, IDS));
      await see(client.createRoute(DEFINITION, IDS));
    },
  ],
  [
    'a dry run stores nothing, and leaves its key free',
    async (client, see) => {
      const dryRun: CreateOptions = { ...IDS, validateOnly: true };
      await see(client.createRoute(DEFINITION, dryRun));
      await see(client.createRouteOnce(OTHER, IDS));
    },
  ],
  [
    'a create without middleware has none',
    (client, see) => see(client.createRoute({ method: 'GET', path: '/', handler: 'h' })),
  ],
  ['an unknown id is not found', (client, see) => see(client.getRoute('unknown', { requestId: 'log' }))],
  [
    'an aborted signal cancels',
    (client, see) => see(client.createRoute(DEFINITION, { ...IDS, signal: AbortSignal.abort() })),
  ],
  [
    'a wrong option is refused',
    (client, see) => see(client.createRoute(DEFINITION, { ...IDS, timeoutMs: 0 })),
  ],
  [
    'a closed client makes no calls',
    (client, see) => {
      client.close();
      return see(client.createRoute(DEFINITION, IDS));
    },
  ],
];

/** What the calls of a row bring, with ids by number, the same time, and no texts, which may differ. */
async function seen(calls: (typeof ROWS)[number][1], client: RouteClient): Promise<unknown> {
  const outcomes: unknown[] = [];
  await calls(client, async (call) => {
    const [outcome] = await Promise.allSettled([call]);
    if (outcome.status === 'fulfilled') {
      outcomes.push(outcome.value);
      return outcome.value;
    }
    outcomes.push(told(outcome.reason as RouteClientError));
    return undefined;
  });
  const ids: string[] = [];
  const text = JSON.stringify(outcomes, (name, value: unknown) => (name === 'createdAt' ? 'then' : value));
  const numbered = text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, (id) => {
    if (!ids.includes(id)) ids.push(id);
    return `id-${ids.indexOf(id)}`;
  });
  return JSON.parse(numbered);
}

/** What an error says, but its text. */
function told(error: RouteClientError): Record<string, unknown> {
  const details = error.details
    .map(({ $typeName }) => $typeName)
    .filter((name) => !name.endsWith('RetryInfo'));
  return { ...error.toJSON(), message: undefined, details };
}

describe('the client in memory answers as the service', () => {
  it.each(ROWS)('%s', async (_, calls) => {
    const { grpcAddress } = await runningService();
    const expected = await seen(calls, routeClient(grpcAddress));
    expect(expected).not.toEqual([]);
    expect(await seen(calls, createTestRouteClient())).toEqual(expected);
  });
});

describe('a scripted failure', () => {
  it('has the status that docs/errors.md gives each reason', () => {
    const rows = readFileSync('docs/errors.md', 'utf8').matchAll(/^\| `([A-Z_]+)` \| ([A-Z_]+) \| /gm);
    expect(Object.fromEntries([...rows].map(([, reason, code]) => [reason, code]))).toEqual(STATUS_OF_REASON);
  });

  it.each<[ScriptedFailure, token: string, RouteDefinition]>([
    [{ reason: 'TOKEN_INVALID' }, 'no.good.token', DEFINITION],
    [
      { reason: 'SCOPE_MISSING', metadata: { scope: 'routes:write' } },
      tokenFor({ scope: 'routes:read' }),
      DEFINITION,
    ],
    [
      {
        reason: 'ROUTE_INVALID',
        fieldViolations: [
          { field: 'route.method', description: expect.any(String) as string },
          { field: 'route.handler', description: expect.any(String) as string },
        ],
      },
      tokenFor(),
      { ...DEFINITION, method: '', handler: '' },
    ],
  ])('is that of the service: %j', async (failure, token, definition) => {
    const { grpcAddress } = await runningService();
    const actual = await failureOf(routeClient(grpcAddress, { token }).createRoute(definition, IDS));
    const client = createTestRouteClient();
    client.failNext(failure);
    expect(told(actual)).toEqual(told(await failureOf(client.createRoute(definition, IDS))));
  });

  it('is that of the service for a duplicate', async () => {
    const { grpcAddress } = await runningService({ settings: { DUPLICATE_ROUTES: 'reject' } });
    const service = routeClient(grpcAddress);
    const { id } = await service.createRoute(DEFINITION);
    const actual = await failureOf(service.createRoute(DEFINITION, IDS));
    const client = createTestRouteClient();
    client.failNext({ reason: 'ROUTE_EXISTS', metadata: { route_id: id } });
    expect(told(await failureOf(client.createRoute(DEFINITION, IDS)))).toEqual(told(actual));
  });
});
