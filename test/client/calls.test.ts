import type { RouteDefinition } from '@route-registry/client';
import { describe, expect, it } from 'vitest';
import { DEFINITION, failureOf } from '../../packages/client/test/support/test-client.js';
import { runningService } from '../support/running-service.js';
import { tokenFor } from '../support/service.js';
import { routeClient } from './route-client.js';

describe('the client', () => {
  it("reports each invalid field, every error detail and the request id of the service's log", async () => {
    const { grpcAddress, log } = await runningService();
    const definition = { method: 'GE T', path: 'users', middleware: [' x'], handler: 'h' };
    const failure = await failureOf(routeClient(grpcAddress).createRoute(definition));
    expect(failure).toMatchObject({ code: 3, status: 'INVALID_ARGUMENT', reason: 'ROUTE_INVALID' });
    expect(failure.fieldViolations.map(({ field }) => field)).toEqual([
      'route.method',
      'route.path',
      'route.middleware[0]',
    ]);
    expect(failure.fieldViolations.map(({ description }) => description)).not.toContain('');
    expect(failure.details.map(({ $typeName }) => $typeName)).toEqual([
      'google.rpc.ErrorInfo',
      'google.rpc.BadRequest',
      'google.rpc.RequestInfo',
    ]);
    await expect.poll(() => log.map((line) => line['requestId'])).toContain(failure.requestId);
  });

  it('renews a token once when it expires, and completes the call', async () => {
    let clockAheadMs = 0;
    const { grpcAddress } = await runningService({
      dependencies: { now: () => Date.now() + clockAheadMs },
    });
    const expiring = tokenFor({ exp: Math.floor(Date.now() / 1_000) + 60 });
    let current = expiring;
    const refusals: (string | undefined)[] = [];
    const token = (refused?: string): string => {
      refusals.push(refused);
      if (refused === current) current = tokenFor();
      return current;
    };
    const client = routeClient(grpcAddress, { token });
    await client.createRoute(DEFINITION);
    clockAheadMs = 70_000;
    const { id } = await client.createRoute(DEFINITION);
    await client.getRoute(id);
    // Each call asks once, and the second call once more, with the token that was refused.
    expect(refusals).toEqual([undefined, undefined, expiring, undefined]);
  });

  it('retries after the delay that an overloaded service requests, and succeeds', async () => {
    const { grpcAddress, log } = await runningService({ settings: { MAX_CALLS: '1' } });
    const client = routeClient(grpcAddress);
    const started = performance.now();
    const routes = await Promise.all([client.createRoute(DEFINITION), client.createRoute(DEFINITION)]);
    expect(new Set(routes.map(({ id }) => id)).size).toBe(2);
    // The service requests 1 s. Timers may be early by some milliseconds.
    expect(performance.now() - started).toBeGreaterThan(990);
    expect(JSON.stringify(log)).toContain('OVERLOADED');
  });

  it('passes a missing field on, so that the service names it', async () => {
    const { grpcAddress } = await runningService();
    const definition = { ...DEFINITION, handler: undefined } as unknown as RouteDefinition;
    const failure = await failureOf(routeClient(grpcAddress).createRoute(definition));
    expect(failure).toMatchObject({ status: 'INVALID_ARGUMENT', reason: 'ROUTE_INVALID' });
    expect(failure.fieldViolations).toEqual([
      { field: 'route.handler', description: expect.stringMatching(/^Must be .*1 to 255/) as string },
    ]);
  });

  it('sends a token as long as the service takes, and says of a longer one that it is too long', async () => {
    const { grpcAddress } = await runningService();
    const longest = 'a'.repeat(8_192);
    const refused = await failureOf(routeClient(grpcAddress, { token: longest }).getRoute('x'));
    expect(refused.message).toMatch(/^The token is not a JWT/);
    const unsent = await failureOf(routeClient(grpcAddress, { token: `${longest}a` }).getRoute('x'));
    expect(unsent).toMatchObject({ status: 'UNAUTHENTICATED', reason: undefined });
    expect(unsent.message).toBe(
      'There is no token for the call: It has 8193 characters; the service takes at most 8192.',
    );
  });

  it('checks a route as a create would, and stores nothing', async () => {
    const { grpcAddress } = await runningService({ settings: { DUPLICATE_ROUTES: 'reject' } });
    const client = routeClient(grpcAddress);
    await expect(client.checkRoute(DEFINITION)).resolves.toEqual(DEFINITION);
    const { id } = await client.createRoute(DEFINITION);
    const failure = await failureOf(client.checkRoute(DEFINITION));
    expect(failure).toMatchObject({ reason: 'ROUTE_EXISTS', metadata: { route_id: id } });
  });

  it('says of a create whether an earlier one with its key had stored the route', async () => {
    const { grpcAddress } = await runningService();
    const client = routeClient(grpcAddress);
    const options = { idempotencyKey: 'deploy-1' };
    const first = await client.createRouteOnce(DEFINITION, options);
    const second = await client.createRouteOnce(DEFINITION, options);
    expect(first.replayed).toBe(false);
    expect(second).toEqual({ route: first.route, replayed: true });
  });
});
