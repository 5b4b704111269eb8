import { describe, expect, it } from 'vitest';
import { createRouteClient, type RouteClientOptions, type RouteDefinition } from '../src/index.js';
import { AWAY, CREATED_AT, encodeRoute, startFaultServer, STORED } from './support/fault-server.js';
import { clientFor, DEFINITION, failureOf } from './support/test-client.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const RANDOM = expect.stringMatching(UUID) as string;
const ROUTE = { id: '01a1f941-715b-7593-b057-19259d7b5bfc', ...DEFINITION, createdAt: CREATED_AT };

describe('a create', () => {
  it('sends only the definition, also of a route that was read, and returns the stored route', async () => {
    const server = await startFaultServer(() => STORED);
    const client = clientFor(server.address);
    await expect(client.createRoute(DEFINITION)).resolves.toEqual(ROUTE);
    await client.createRoute(await client.getRoute(ROUTE.id));
    await client.createRoute({ method: 'GET', path: '/', handler: 'h' });
    expect(server.ids).toEqual([ROUTE.id]);
    const sent = { ...DEFINITION, id: '' };
    expect(server.creates.map(({ route }) => route)).toMatchObject([sent, sent, { middleware: [] }]);
    expect(server.creates.map(({ route }) => route?.createdAt)).toEqual([undefined, undefined, undefined]);
  });

  it('that is a dry run returns the definition, and sends a key only if its options have one: no other can exist', async () => {
    const server = await startFaultServer(() => STORED);
    const client = clientFor(server.address);
    await expect(client.checkRoute(DEFINITION)).resolves.toEqual(DEFINITION);
    await client.checkRoute(DEFINITION, { idempotencyKey: 'my-key' });
    expect(server.creates).toMatchObject([
      { requestId: '', validateOnly: true },
      { requestId: 'my-key', validateOnly: true },
    ]);
  });

  it("sends its idempotency key as request_id, and its request id as x-request-id for the service's logs", async () => {
    const server = await startFaultServer(() => STORED);
    const client = clientFor(server.address);
    await client.createRoute(DEFINITION, { idempotencyKey: 'my-key', requestId: 'my-log' });
    await client.createRoute(DEFINITION, { idempotencyKey: 'my-key' });
    await client.createRoute(DEFINITION, { requestId: 'my-log' });
    await client.createRoute(DEFINITION);
    expect(server.creates.map(({ requestId }) => requestId)).toEqual(['my-key', 'my-key', RANDOM, RANDOM]);
    expect(server.requestIds).toEqual(['my-log', RANDOM, 'my-log', RANDOM]);
    expect(server.creates[2]?.requestId).not.toBe(server.creates[3]?.requestId);
  });

  it('says beside its route whether an earlier request had stored it', async () => {
    const trailers = { 'idempotent-replayed': 'true' };
    const server = await startFaultServer((_call, earlier) =>
      earlier === 0 ? STORED : { message: STORED, trailers },
    );
    const client = clientFor(server.address);
    expect(await client.createRouteOnce(DEFINITION)).toEqual({ route: ROUTE, replayed: false });
    expect(await client.createRouteOnce(DEFINITION)).toEqual({ route: ROUTE, replayed: true });
  });

  it.each(['createRoute', 'createRouteOnce', 'checkRoute'] as const)(
    'with %s takes no validateOnly, and names checkRoute',
    async (method) => {
      const server = await startFaultServer(() => STORED);
      const options: object = { validateOnly: true };
      const failure = await failureOf(clientFor(server.address)[method](DEFINITION, options));
      expect(failure).toMatchObject({
        status: 'INVALID_ARGUMENT',
        message: 'There is no option "validateOnly"; a dry run is the method checkRoute.',
      });
      expect(server.creates).toEqual([]);
    },
  );

  it.each([
    [undefined, 'The definition must be an object, not undefined.'],
    [{ ...DEFINITION, midleware: ['a'] }, 'There is no field "midleware"; the nearest is "middleware".'],
    [{ ...DEFINITION, Handler: 'h' }, 'There is no field "Handler"; the nearest is "handler".'],
    [{ ...DEFINITION, handler: 5 }, 'handler must be Unicode text without lone surrogates, not 5.'],
    [{ ...DEFINITION, path: null }, 'path must be Unicode text without lone surrogates, not null.'],
    [{ ...DEFINITION, middleware: 'a' }, 'middleware must be an array, not "a".'],
    [
      { ...DEFINITION, middleware: [[]] },
      'middleware[0] must be Unicode text without lone surrogates, not an',
    ],
    [{ ...DEFINITION, middleware: ['a', 'h\ud83d'] }, 'middleware[1] must be Unicode text without lone'],
    [{ ...DEFINITION, method: 'h\ud83d' }, String.raw`without lone surrogates, not "h\ud83d".`],
  ])('of what cannot be sent as it is, is refused: %j', async (definition, message) => {
    const call = clientFor('127.0.0.1:1').createRoute(definition as unknown as RouteDefinition);
    expect(await failureOf(call)).toMatchObject({
      status: 'INVALID_ARGUMENT',
      message: expect.stringContaining(message) as string,
    });
  });
});

describe('a get', () => {
  it.each([
    ['h\ud83d', {}, 'id must be Unicode text without lone surrogates'],
    ['x', { idempotencyKey: 'key' }, 'There is no option "idempotencyKey"'],
  ])('is refused that cannot be sent as it is: %j, %j', async (id, options: object, message) => {
    const failure = await failureOf(clientFor('127.0.0.1:1').getRoute(id, options));
    expect(failure.message).toContain(message);
  });

  it('of a stored route without a creation time is an INTERNAL error', async () => {
    const server = await startFaultServer(() => encodeRoute({ id: 'x' }));
    expect(await failureOf(clientFor(server.address).getRoute('x'))).toMatchObject({
      status: 'INTERNAL',
      message: 'The reply cannot be read: A stored route without a time of creation.',
    });
  });
});

it.each([
  [{ timeoutMs: 0 }, 'timeoutMs must be an integer from 1 to 2147483647, not 0.'],
  [{ timeoutMs: 2 ** 31 }, 'timeoutMs must be an integer from 1 to 2147483647, not 2147483648.'],
  [{ timeoutMs: '5' }, 'timeoutMs must be an integer from 1 to 2147483647, not "5".'],
  // The service would read it as no key, and a retry would store a second route.
  [{ idempotencyKey: '' }, 'idempotencyKey must be 1 to 128 visible ASCII characters, not "".'],
  [{ requestId: 'ä' }, 'requestId must be 1 to 128 visible ASCII characters, not "ä".'],
  [{ signal: new AbortController() }, 'signal must be an AbortSignal, not an object.'],
  [{ signal: { aborted: false } }, 'signal must be an AbortSignal, not an object.'],
  [{ signal: 'abort' }, 'signal must be an AbortSignal, not "abort".'],
  [{ timeout: 5 }, 'There is no option "timeout"; the nearest is "timeoutMs".'],
  [{ deadline: 5 }, /^There is no option "deadline"; known are .*timeoutMs/],
  [() => undefined, 'The options must be an object, not a function.'],
])(
  'an option that is unknown, of a wrong type or out of range is refused: %j',
  async (options: object, message) => {
    const failure = await failureOf(clientFor('127.0.0.1:1').createRoute(DEFINITION, options));
    expect(failure).toMatchObject({ status: 'INVALID_ARGUMENT', reason: undefined, message });
    expect(failure.cause).toBeInstanceOf(RangeError);
  },
);

it('what is undefined has its default, and as a field is absent, so that the service says what it needs', async () => {
  const server = await startFaultServer(() => STORED);
  const none: object = { tls: undefined, waitForReady: undefined, channelOptions: undefined };
  const client = clientFor(server.address, none);
  const absent = undefined;
  const options = {
    signal: absent,
    timeoutMs: absent,
    requestId: absent,
    idempotencyKey: absent,
    validateOnly: absent,
  };
  await client.createRoute({ ...DEFINITION, handler: absent as unknown as string }, options);
  await client.getRoute(absent as unknown as string, options);
  expect(server.creates).toMatchObject([{ route: { handler: '' } }]);
  expect(server.ids).toEqual(['']);
  await client.getRoute('x', { timeoutMs: 60_000 });
  expect(server.received.map((each) => Math.ceil(each.timeoutMs / 1_000))).toEqual([5, 5, 60]);
});

it('a closed client refuses new calls and lets calls in progress finish, also those to be repeated', async () => {
  const server = await startFaultServer((_received, earlier) => (earlier < 2 ? AWAY : STORED));
  const client = clientFor(server.address);
  const inProgress = Array.from({ length: 150 }, () => client.getRoute('x'));
  await expect.poll(() => server.received.length).toBeGreaterThan(0);
  client.close();
  expect(await failureOf(client.getRoute('x'))).toMatchObject({
    status: 'UNAVAILABLE',
    message: 'The client is closed.',
  });
  await expect(Promise.all(inProgress)).resolves.toHaveLength(150);
});

const TOKEN = { token: 'x' };

it.each([
  ['', TOKEN, 'Could not parse target name'],
  [{ host: 'x' }, TOKEN, 'The target must be a string, not an object.'],
  ['127.0.0.1:1', { token: undefined }, 'The token must be a string or a function; it is undefined.'],
  ['127.0.0.1:1', undefined, 'The options must be an object, not undefined.'],
  ['127.0.0.1:1', { ...TOKEN, tsl: false }, 'There is no option "tsl"; the nearest is "tls".'],
  ['127.0.0.1:1', { ...TOKEN, tls: null }, 'tls must be true, false, '],
  [
    '127.0.0.1:1',
    { ...TOKEN, tls: { connectionOptions: {}, verifyOptions: {} } },
    'tls must be true, false, ',
  ],
  ['127.0.0.1:1', { ...TOKEN, tls: { ca: 'PEM' } }, 'Root certificate, if provided, must be a Buffer.'],
  ['127.0.0.1:1', { ...TOKEN, tls: { cert: Buffer.of() } }, 'must be given with accompanying'],
  ['127.0.0.1:1', { ...TOKEN, waitForReady: 1 }, 'waitForReady must be true or false, not 1.'],
  ['127.0.0.1:1', { ...TOKEN, channelOptions: 5 }, 'channelOptions must be an object, not 5.'],
])('a client of what cannot be meant is refused at once: %j, %j', (target, options, message) => {
  const create = () => createRouteClient(target as string, options as unknown as RouteClientOptions);
  expect(create).toThrow(message);
});
