import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';
import { GetRouteRequestSchema, RouteSchema } from '../src/gen/routing/v1/route_service_pb.js';
import {
  createRouteClient,
  type CreateOptions,
  type RouteClientOptions,
  type RouteDefinition,
} from '../src/index.js';
import { AWAY, CREATED_AT, startFaultServer, STORED } from './support/fault-server.js';
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

it('a dry run sends the key of its caller, and none of its own, which the service would look for', async () => {
  const server = await startFaultServer(() => STORED);
  const client = clientFor(server.address);
  await client.createRoute(DEFINITION, { validateOnly: true });
  await client.createRoute(DEFINITION, { validateOnly: true, idempotencyKey: 'my-key' });
  expect(server.creates.map(({ requestId }) => requestId)).toEqual(['', 'my-key']);
});

it('a route that was read may be given to createRoute, which sends its definition', async () => {
  const server = await startFaultServer(() => STORED);
  const client = clientFor(server.address);
  await client.createRoute(await client.getRoute(ROUTE.id));
  expect(server.creates).toMatchObject([{ route: { ...DEFINITION, id: '' } }]);
  expect(server.creates[0]?.route?.createdAt).toBeUndefined();
});

it.each([
  [{ ...DEFINITION, midleware: ['a'] }, {}, 'There is no field "midleware"; the nearest is "middleware".'],
  [{ ...DEFINITION, Handler: 'h' }, {}, 'There is no field "Handler"; the nearest is "handler".'],
  [DEFINITION, { validateonly: true }, 'There is no option "validateonly"; the nearest is "validateOnly".'],
  [DEFINITION, { timeout: 5 }, 'There is no option "timeout"; the nearest is "timeoutMs".'],
])('an unknown name is refused before anything is sent: %j, %j', async (definition, options, message) => {
  const server = await startFaultServer(() => STORED);
  const failure = await failureOf(clientFor(server.address).createRoute(definition, options as object));
  expect(failure).toMatchObject({ status: 'INVALID_ARGUMENT', message });
  expect(server.received).toEqual([]);
});

it('a get has no options of creates', async () => {
  const options: object = { idempotencyKey: 'key' };
  const failure = await failureOf(clientFor('127.0.0.1:1').getRoute('x', options));
  expect(failure).toMatchObject({
    message: 'There is no option "idempotencyKey"; the nearest is "timeoutMs".',
  });
});

it("a create sends its idempotency key as request_id, and its request id as x-request-id for the service's logs", async () => {
  const server = await startFaultServer(() => STORED);
  const client = clientFor(server.address);
  await client.createRoute(DEFINITION, { idempotencyKey: 'my-key', requestId: 'my-log' });
  await client.createRoute(DEFINITION, { idempotencyKey: 'my-key' });
  await client.createRoute(DEFINITION, { requestId: 'my-log' });
  await client.createRoute(DEFINITION);
  const random = expect.stringMatching(UUID) as string;
  expect(server.creates.map(({ requestId }) => requestId)).toEqual(['my-key', 'my-key', random, random]);
  expect(server.requestIds).toEqual(['my-log', random, 'my-log', random]);
  const [, , first, second] = server.creates;
  expect(first?.requestId).not.toBe(second?.requestId);
});

it('a get sends its request id, and a new one if it has none', async () => {
  const server = await startFaultServer(() => STORED);
  const client = clientFor(server.address);
  await client.getRoute('x', { requestId: 'my-get' });
  await client.getRoute('x');
  expect(server.requestIds).toEqual(['my-get', expect.stringMatching(UUID)]);
});

it.each([
  { trailers: { 'idempotent-replayed': 'true' }, replayed: true },
  { trailers: {}, replayed: false },
])('a create says beside its route whether an earlier request had stored it: $replayed', async (reply) => {
  const server = await startFaultServer(() => ({ message: STORED, trailers: reply.trailers }));
  const { route, replayed } = await clientFor(server.address).createRouteOnce(DEFINITION);
  expect({ route, replayed }).toEqual({ route: ROUTE, replayed: reply.replayed });
});

it('a create that says whether it is a repeat stores the route, and takes no validateOnly', async () => {
  const server = await startFaultServer(() => STORED);
  const options: CreateOptions = { validateOnly: true };
  const failure = await failureOf(clientFor(server.address).createRouteOnce(DEFINITION, options));
  expect(failure).toMatchObject({
    status: 'INVALID_ARGUMENT',
    message: 'createRouteOnce stores the route; validateOnly is an option of createRoute.',
  });
  expect(server.received).toEqual([]);
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
  [{ timeoutMs: 0 }, 'timeoutMs must be an integer from 1 to 2147483647, not 0.'],
  [{ timeoutMs: NaN }, 'timeoutMs must be an integer from 1 to 2147483647, not NaN.'],
  [{ timeoutMs: 2 ** 31 }, 'timeoutMs must be an integer from 1 to 2147483647, not 2147483648.'],
  [{ timeoutMs: '5' }, 'timeoutMs must be an integer from 1 to 2147483647, not "5".'],
  // The service would read it as no key, and a retry would store a second route.
  [{ idempotencyKey: '' }, 'idempotencyKey must be 1 to 128 visible ASCII characters, not "".'],
  [{ idempotencyKey: 7 }, 'idempotencyKey must be 1 to 128 visible ASCII characters, not 7.'],
  [{ requestId: 'ä' }, 'requestId must be 1 to 128 visible ASCII characters, not "ä".'],
  [{ requestId: null }, 'requestId must be 1 to 128 visible ASCII characters, not null.'],
  [{ signal: new AbortController() }, 'signal must be an AbortSignal, not an object.'],
  [{ validateOnly: 'false' }, 'validateOnly must be true or false, not "false".'],
  [() => undefined, 'The options must be an object, not a function.'],
  [null, 'The options must be an object, not null.'],
])('an option of a wrong type or out of range is refused: %j', async (options, message) => {
  const call = clientFor('127.0.0.1:1').createRoute(DEFINITION, options as CreateOptions);
  const failure = await failureOf(call);
  expect(failure).toMatchObject({ status: 'INVALID_ARGUMENT', reason: undefined, message });
  expect(failure.cause).toBeInstanceOf(RangeError);
});

it('an option that is undefined has its default', async () => {
  const server = await startFaultServer(() => STORED);
  const none = { tls: undefined, channelOptions: { 'grpc.service_config': undefined } };
  const client = clientFor(server.address, none as unknown as RouteClientOptions);
  const [signal, timeoutMs, requestId, idempotencyKey, validateOnly] = [] as undefined[];
  const options = { signal, timeoutMs, requestId, idempotencyKey, validateOnly };
  await expect(client.createRoute(DEFINITION, options)).resolves.toEqual(ROUTE);
  await expect(client.getRoute('x', options)).resolves.toEqual(ROUTE);
  expect(server.received.map((each) => Math.ceil(each.timeoutMs / 1_000))).toEqual([5, 5]);
});

it('a field that is undefined is sent as absent, so that the service says what it needs', async () => {
  const server = await startFaultServer(() => STORED);
  const client = clientFor(server.address);
  const absent = undefined as unknown as string;
  await client.createRoute({ ...DEFINITION, handler: absent });
  await client.getRoute(absent);
  expect(server.creates).toMatchObject([{ route: { handler: '' } }]);
  expect(server.ids).toEqual(['']);
});

it.each([
  [{ ...DEFINITION, handler: 5 }, 'handler must be Unicode text without lone surrogates, not 5.'],
  [{ ...DEFINITION, path: null }, 'path must be Unicode text without lone surrogates, not null.'],
  [{ ...DEFINITION, middleware: 'a' }, 'middleware must be an array, not "a".'],
  [
    { ...DEFINITION, middleware: [[]] },
    'middleware[0] must be Unicode text without lone surrogates, not an array.',
  ],
  [undefined, 'The definition must be an object, not undefined.'],
])('a definition of a wrong type is refused, not converted: %j', async (definition, message) => {
  const failure = await failureOf(
    clientFor('127.0.0.1:1').createRoute(definition as unknown as RouteDefinition),
  );
  expect(failure).toMatchObject({ status: 'INVALID_ARGUMENT', message });
});

it('a stored route without a creation time is an INTERNAL error', async () => {
  const route = Buffer.from(toBinary(RouteSchema, create(RouteSchema, { id: 'x' })));
  const server = await startFaultServer(() => route);
  const failure = await failureOf(clientFor(server.address).getRoute('x'));
  expect(failure).toMatchObject({ code: status.INTERNAL, status: 'INTERNAL' });
  expect(failure.message).toContain('A stored route without a time of creation.');
});

it('a closed client refuses new calls and lets calls in progress finish, also those to be repeated', async () => {
  const server = await startFaultServer((_received, earlier) => (earlier < 2 ? AWAY : STORED));
  const client = clientFor(server.address);
  const inProgress = client.getRoute('x');
  await expect.poll(() => server.received.length).toBe(1);
  client.close();
  expect(await failureOf(client.getRoute('x'))).toMatchObject({
    status: 'UNAVAILABLE',
    message: 'The client is closed.',
  });
  await expect(inProgress).resolves.toEqual(ROUTE);
});

it('a target that grpc-js cannot parse is refused at once', () => {
  expect(() => createRouteClient('', { token: 'x' })).toThrow();
});

const TOKEN = { token: 'x' };
const FOREIGN_CREDENTIALS = { connectionOptions: {}, verifyOptions: {} };

it.each([
  ['127.0.0.1:1', { token: undefined }, 'The token must be a string or a function; it is undefined.'],
  ['127.0.0.1:1', { token: 5 }, 'The token must be a string or a function; it is 5.'],
  ['127.0.0.1:1', undefined, 'The options must be an object, not undefined.'],
  [{ host: 'x' }, TOKEN, 'The target must be a string, not an object.'],
  ['127.0.0.1:1', { ...TOKEN, tls: 'true' }, 'tls must be true, false, '],
  ['127.0.0.1:1', { ...TOKEN, tls: null }, 'tls must be true, false, '],
  ['127.0.0.1:1', { ...TOKEN, tls: FOREIGN_CREDENTIALS }, 'tls must be true, false, '],
  ['127.0.0.1:1', { ...TOKEN, tls: { ca: 'PEM' } }, 'Root certificate, if provided, must be a Buffer.'],
  ['127.0.0.1:1', { ...TOKEN, tsl: false }, 'There is no option "tsl"; the nearest is "tls".'],
  ['127.0.0.1:1', { ...TOKEN, waitForReady: 1 }, 'waitForReady must be true or false, not 1.'],
  ['127.0.0.1:1', { ...TOKEN, channelOptions: 5 }, 'channelOptions must be an object, not 5.'],
])('an option of a client of a wrong type is refused at once: %j, %j', (target, options, message) => {
  expect(() => createRouteClient(target as string, options as unknown as RouteClientOptions)).toThrow(
    message,
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
