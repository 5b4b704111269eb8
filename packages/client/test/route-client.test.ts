import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';
import { GetRouteRequestSchema, RouteSchema } from '../src/gen/routing/v1/route_service_pb.js';
import { createRouteClient, type RouteDefinition } from '../src/index.js';
import { CREATED_AT, startFaultServer, STORED } from './support/fault-server.js';
import { clientFor, DEFINITION, failureOf } from './support/test-client.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const ROUTE = { id: '01a1f941-715b-7593-b057-19259d7b5bfc', ...DEFINITION, createdAt: CREATED_AT };

it('a create sends only the definition and returns the stored route', async () => {
  const server = await startFaultServer(() => STORED);
  await expect(clientFor(server.address).createRoute(DEFINITION)).resolves.toEqual(ROUTE);
  expect(server.creates).toMatchObject([
    {
      route: { ...DEFINITION, id: '' },
      requestId: expect.stringMatching(UUID) as string,
      validateOnly: false,
    },
  ]);
  expect(server.creates[0]?.route?.createdAt).toBeUndefined();
});

it('a create without middleware sends an empty list', async () => {
  const server = await startFaultServer(() => STORED);
  await clientFor(server.address).createRoute({ method: 'GET', path: '/', handler: 'h' });
  expect(server.creates[0]?.route?.middleware).toEqual([]);
});

it('a get sends the id and returns the route', async () => {
  const server = await startFaultServer(() => STORED);
  await expect(clientFor(server.address).getRoute(ROUTE.id)).resolves.toEqual(ROUTE);
  const [received] = server.received;
  expect(received?.method).toBe('GetRoute');
  expect(fromBinary(GetRouteRequestSchema, received?.message ?? Buffer.alloc(0)).routeId).toBe(ROUTE.id);
});

it('a dry run returns only the definition', async () => {
  const server = await startFaultServer(() => STORED);
  const checked = await clientFor(server.address).createRoute(DEFINITION, { validateOnly: true });
  expect(checked).toEqual(DEFINITION);
  expect(server.creates).toMatchObject([{ validateOnly: true }]);
});

it("a call sends its request id as x-request-id too, for the service's logs", async () => {
  const server = await startFaultServer(() => STORED);
  const client = clientFor(server.address);
  await client.createRoute(DEFINITION, { requestId: 'my-own' });
  await client.createRoute(DEFINITION);
  await client.getRoute('x', { requestId: 'my-get' });
  await client.getRoute('x');
  const names = server.received.map(({ metadata }) => metadata.get('x-request-id')[0]);
  expect(names).toEqual(['my-own', server.creates[1]?.requestId, 'my-get', expect.stringMatching(UUID)]);
});

it('a call has a timeout of five seconds, or of timeoutMs if given', async () => {
  const server = await startFaultServer(() => STORED);
  const client = clientFor(server.address);
  await client.getRoute('x');
  await client.getRoute('x', { timeoutMs: 60_000 });
  const [byDefault, asked] = server.received.map(({ timeoutMs }) => Math.ceil(timeoutMs / 1_000));
  expect({ byDefault, asked }).toEqual({ byDefault: 5, asked: 60 });
});

const HALF = 'h\ud83d';

it.each([
  {
    change: { method: HALF },
    message: /^method must be Unicode text without lone surrogates, not "h\\ud83d"/,
  },
  { change: { path: HALF }, message: /^path must be/ },
  { change: { handler: HALF }, message: /^handler must be/ },
  { change: { middleware: ['a', HALF] }, message: /^middleware\[1\] must be/ },
])(
  'a lone surrogate is refused instead of being sent as another character: $message',
  async ({ change, message }) => {
    const server = await startFaultServer(() => STORED);
    const failure = await failureOf(clientFor(server.address).createRoute({ ...DEFINITION, ...change }));
    expect(failure).toMatchObject({
      status: 'INVALID_ARGUMENT',
      message: expect.stringMatching(message) as string,
    });
    expect(server.received).toEqual([]);
  },
);

it('an id with a lone surrogate is refused', async () => {
  const failure = await failureOf(clientFor('127.0.0.1:1').getRoute(HALF));
  expect(failure).toMatchObject({
    status: 'INVALID_ARGUMENT',
    message: expect.stringMatching(/^id must be/) as string,
  });
});

it.each([
  { options: { timeoutMs: 0 }, message: 'timeoutMs must be an integer from 1 to 2147483647, not 0.' },
  { options: { timeoutMs: NaN }, message: 'timeoutMs must be an integer from 1 to 2147483647, not NaN.' },
  {
    options: { timeoutMs: 2 ** 31 },
    message: 'timeoutMs must be an integer from 1 to 2147483647, not 2147483648.',
  },
  // The service would read it as no id, and a retry would store a second route.
  { options: { requestId: '' }, message: 'requestId must be 1 to 128 visible ASCII characters, not "".' },
  { options: { requestId: 'ä' }, message: 'requestId must be 1 to 128 visible ASCII characters, not "ä".' },
])('an option out of range is refused: $message', async ({ options, message }) => {
  const failure = await failureOf(clientFor('127.0.0.1:1').createRoute(DEFINITION, options));
  expect(failure).toMatchObject({ status: 'INVALID_ARGUMENT', reason: undefined, message });
  expect(failure.cause).toBeInstanceOf(RangeError);
});

it('a value of the wrong type is refused, not converted', async () => {
  const definition = { ...DEFINITION, handler: 5 } as unknown as RouteDefinition;
  const failure = await failureOf(clientFor('127.0.0.1:1').createRoute(definition));
  expect(failure).toMatchObject({
    status: 'INVALID_ARGUMENT',
    message: 'handler must be Unicode text without lone surrogates, not number.',
  });
});

it('a stored route without a creation time is an INTERNAL error', async () => {
  const route = Buffer.from(toBinary(RouteSchema, create(RouteSchema, { id: 'x' })));
  const server = await startFaultServer(() => route);
  const failure = await failureOf(clientFor(server.address).getRoute('x'));
  expect(failure).toMatchObject({ code: status.INTERNAL, status: 'INTERNAL' });
  expect(failure.message).toContain('A stored route without a time of creation.');
});

it('a closed client refuses new calls and lets calls in progress finish', async () => {
  const server = await startFaultServer(() => 'never');
  const client = clientFor(server.address);
  const inProgress = failureOf(client.getRoute('x', { timeoutMs: 500 }));
  await expect.poll(() => server.received.length).toBe(1);
  client.close();
  expect(await failureOf(client.getRoute('x'))).toMatchObject({
    status: 'UNAVAILABLE',
    message: 'The client is closed.',
  });
  expect((await inProgress).status).toBe('DEADLINE_EXCEEDED');
});

it('a target that grpc-js cannot parse is refused at once', () => {
  expect(() => createRouteClient('', { token: 'x' })).toThrow();
});

it('an undefined token is refused at once', () => {
  const token = undefined as unknown as string;
  expect(() => createRouteClient('127.0.0.1:1', { token })).toThrow(
    'The token must be a string or a function; it is undefined.',
  );
});

it('a target may be a DNS name', async () => {
  const { address } = await startFaultServer(() => STORED);
  const [, port = ''] = address.split(':');
  await expect(clientFor(`dns:///localhost:${port}`).getRoute('x')).resolves.toEqual(ROUTE);
});

it('a target may be a Unix socket', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'route-client-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const target = `unix:${join(folder, 'socket')}`;
  await startFaultServer(() => STORED, { host: target });
  await expect(clientFor(target).getRoute('x')).resolves.toEqual(ROUTE);
});

it('calls are spread evenly over the addresses of a target', async () => {
  const servers = [await startFaultServer(() => STORED), await startFaultServer(() => STORED)];
  const client = clientFor(`ipv4:${servers.map(({ address }) => address).join(',')}`);
  await expect
    .poll(async () => {
      await client.getRoute('x');
      return servers.map(({ received }) => received.length).every((count) => count > 0);
    })
    .toBe(true);
  const before = servers.map(({ received }) => received.length);
  for (let call = 0; call < 10; call++) await client.getRoute('x');
  expect(servers.map(({ received }, index) => received.length - (before[index] ?? 0))).toEqual([5, 5]);
});
