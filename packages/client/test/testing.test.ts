import { expect, it } from 'vitest';
import { createTestRouteClient } from '../src/testing.js';
import { DEFINITION, failureOf } from './support/test-client.js';

it('a client in memory shows its routes in the order of their creation', async () => {
  const client = createTestRouteClient();
  const first = await client.createRoute(DEFINITION);
  const second = await client.createRoute({ method: 'GET', path: '/', handler: 'h' });
  expect(client.routes).toEqual([first, second]);
});

it('a client in memory answers a repeated key with its first route, and refuses it for another', async () => {
  const client = createTestRouteClient();
  const { id } = await client.createRoute(DEFINITION, { idempotencyKey: 'key' });
  const repeat = await client.createRouteOnce(DEFINITION, { idempotencyKey: 'key' });
  expect(repeat).toMatchObject({ route: { id }, replayed: true });
  const failure = await failureOf(
    client.createRoute({ ...DEFINITION, path: '/' }, { idempotencyKey: 'key' }),
  );
  expect(failure).toMatchObject({ reason: 'REQUEST_ID_REUSED', metadata: { route_id: id } });
  expect(client.routes).toHaveLength(1);
});

it('a client in memory gets what it stored, and checks without storing', async () => {
  const client = createTestRouteClient();
  await expect(client.createRoute(DEFINITION, { validateOnly: true })).resolves.toEqual(DEFINITION);
  expect(client.routes).toEqual([]);
  const route = await client.createRoute(DEFINITION);
  await expect(client.getRoute(route.id)).resolves.toEqual(route);
  expect(await failureOf(client.getRoute('other'))).toMatchObject({ reason: 'ROUTE_NOT_FOUND' });
});

it('scripted failures come once each, in their order', async () => {
  const client = createTestRouteClient();
  const fieldViolations = [{ field: 'route.path', description: 'Must begin with "/".' }];
  client.failNext({ reason: 'ROUTE_INVALID', fieldViolations, message: 'Wrong.' });
  client.failNext({ reason: 'OVERLOADED' });
  client.failNext({ status: 'UNAVAILABLE' });
  expect(await failureOf(client.createRoute(DEFINITION))).toMatchObject({
    status: 'INVALID_ARGUMENT',
    message: 'Wrong.',
    fieldViolations,
  });
  expect(await failureOf(client.getRoute('x'))).toMatchObject({
    status: 'RESOURCE_EXHAUSTED',
    reason: 'OVERLOADED',
  });
  expect(await failureOf(client.getRoute('x'))).toMatchObject({ status: 'UNAVAILABLE', reason: undefined });
  await expect(client.createRoute(DEFINITION)).resolves.toMatchObject(DEFINITION);
  expect(client.routes).toHaveLength(1);
});

it('a scripted failure may come after the route is stored, and the key then repeats it', async () => {
  const client = createTestRouteClient();
  client.failNext({ status: 'UNAVAILABLE', message: 'Connection dropped', afterStoring: true });
  const { idempotencyKey } = await failureOf(client.createRoute(DEFINITION));
  const { route, replayed } = await client.createRouteOnce(DEFINITION, { idempotencyKey });
  expect({ routes: client.routes, replayed }).toEqual({ routes: [route], replayed: true });
});

it('a closed client in memory makes no calls', async () => {
  const client = createTestRouteClient();
  client.close();
  expect(await failureOf(client.getRoute('x'))).toMatchObject({ message: 'The client is closed.' });
});
