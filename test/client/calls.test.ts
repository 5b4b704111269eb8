import type { RouteClientError } from '@route-registry/client';
import { describe, expect, it } from 'vitest';
import { DEFINITION, failureOf } from '../../packages/client/test/support/test-client.js';
import { runningService } from '../support/running-service.js';
import { tokenFor } from '../support/service.js';
import { routeClient } from './route-client.js';

describe('the client', () => {
  it('creates a route and gets it back unchanged', async () => {
    const { grpcAddress } = await runningService();
    const client = routeClient(grpcAddress);
    const before = Date.now();
    const created = await client.createRoute(DEFINITION);
    expect(created).toMatchObject(DEFINITION);
    expect(created.createdAt.getTime()).toBeGreaterThanOrEqual(before);
    await expect(client.getRoute(created.id)).resolves.toEqual(created);
  });

  it('creates one route from two creates with the same request id', async () => {
    const { grpcAddress } = await runningService();
    const client = routeClient(grpcAddress);
    const [one, other] = await Promise.all([
      client.createRoute(DEFINITION, { requestId: 'same' }),
      client.createRoute(DEFINITION, { requestId: 'same' }),
    ]);
    expect(other).toEqual(one);
    const failure = await failureOf(client.createRoute({ ...DEFINITION, path: '/' }, { requestId: 'same' }));
    expect(failure).toMatchObject({ status: 'ALREADY_EXISTS', reason: 'REQUEST_ID_REUSED' });
  });

  it('gets the id of the route that already exists', async () => {
    const { grpcAddress } = await runningService({ settings: { DUPLICATE_ROUTES: 'reject' } });
    const client = routeClient(grpcAddress);
    const { id } = await client.createRoute(DEFINITION);
    const failure = await failureOf(client.createRoute({ ...DEFINITION, path: '/users/:name' }));
    expect(failure).toMatchObject({ reason: 'ROUTE_EXISTS', metadata: { route_id: id } });
  });

  it('checks a route without storing it', async () => {
    const { grpcAddress } = await runningService({ settings: { DUPLICATE_ROUTES: 'reject' } });
    const client = routeClient(grpcAddress);
    const dryRun = () => client.createRoute(DEFINITION, { validateOnly: true });
    await expect(dryRun()).resolves.toEqual(DEFINITION);
    await expect(dryRun()).resolves.toEqual(DEFINITION);
  });

  it('reports each invalid field', async () => {
    const { grpcAddress } = await runningService();
    const definition = { method: 'GE T', path: 'users', middleware: [' x'], handler: 'h' };
    const failure = await failureOf(routeClient(grpcAddress).createRoute(definition));
    expect(failure).toMatchObject({ code: 3, status: 'INVALID_ARGUMENT', reason: 'ROUTE_INVALID' });
    expect(failure.fieldViolations.map(({ field }) => field)).toEqual([
      'route.method',
      'route.path',
      'route.middleware[0]',
    ]);
    expect(failure.fieldViolations.map(({ description }) => description)).not.toContain('');
  });

  it("gives each failure the request id from the service's log", async () => {
    const { grpcAddress, log } = await runningService();
    const failure = await failureOf(routeClient(grpcAddress).getRoute('nothing'));
    expect(failure).toMatchObject({ status: 'NOT_FOUND', reason: 'ROUTE_NOT_FOUND' });
    await expect.poll(() => log.map((line) => line['requestId'])).toContain(failure.requestId);
  });

  it('parses every error detail that the service sends', async () => {
    const { grpcAddress } = await runningService();
    const failure = await failureOf(routeClient(grpcAddress).createRoute({ ...DEFINITION, path: '' }));
    expect(failure.details.map(({ $typeName }) => $typeName)).toEqual([
      'google.rpc.ErrorInfo',
      'google.rpc.BadRequest',
      'google.rpc.RequestInfo',
    ]);
  });

  it('renews a token once when it expires, and completes the call', async () => {
    let lateMs = 0;
    const { grpcAddress } = await runningService({ dependencies: { now: () => Date.now() + lateMs } });
    const asked: (string | undefined)[] = [];
    let kept = tokenFor({ exp: Math.floor(Date.now() / 1_000) + 60 });
    const first = kept;
    const token = (refused?: string): string => {
      asked.push(refused);
      if (kept === refused) kept = tokenFor();
      return kept;
    };
    const client = routeClient(grpcAddress, { token });
    await client.createRoute(DEFINITION);
    lateMs = 70_000;
    const { id } = await client.createRoute(DEFINITION);
    await client.getRoute(id);
    expect(asked).toEqual([undefined, undefined, first, undefined]);
  });

  it('reports why a token without the scope is rejected', async () => {
    const { grpcAddress } = await runningService();
    const client = routeClient(grpcAddress, { token: tokenFor({ scope: 'routes:read' }) });
    expect(await failureOf(client.createRoute(DEFINITION))).toMatchObject({
      status: 'PERMISSION_DENIED',
      reason: 'SCOPE_MISSING',
    });
  });

  it('retries after the delay that an overloaded service requests, and succeeds', async () => {
    const { grpcAddress, log } = await runningService({ settings: { MAX_CALLS: '1' } });
    const client = routeClient(grpcAddress);
    const started = performance.now();
    const routes = await Promise.all([client.createRoute(DEFINITION), client.createRoute(DEFINITION)]);
    expect(new Set(routes.map(({ id }) => id)).size).toBe(2);
    expect(performance.now() - started).toBeGreaterThan(990);
    expect(JSON.stringify(log)).toContain('OVERLOADED');
  });

  it('parses the retry delay that an overloaded service sends', async () => {
    const { grpcAddress } = await runningService({ settings: { MAX_CALLS: '1' } });
    const client = routeClient(grpcAddress, { channelOptions: { 'grpc.enable_retries': 0 } });
    const calls = await Promise.allSettled([client.createRoute(DEFINITION), client.createRoute(DEFINITION)]);
    const reasons = calls.flatMap((call) => (call.status === 'rejected' ? [call.reason as unknown] : []));
    expect(reasons).toEqual([
      expect.objectContaining({ status: 'RESOURCE_EXHAUSTED', reason: 'OVERLOADED' }),
    ]);
    const [{ details }] = reasons as [RouteClientError];
    expect(details).toContainEqual(
      expect.objectContaining({
        $typeName: 'google.rpc.RetryInfo',
        retryDelay: expect.objectContaining({ seconds: 1n }) as unknown,
      }),
    );
  });
});
