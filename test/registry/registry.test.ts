import { describe, expect, it } from 'vitest';
import type { InsertOutcome, RouteStore } from '../../src/registry/route-store.js';
import { type CreateCommand, newRouteId, Registry } from '../../src/registry/registry.js';
import type { Route } from '../../src/registry/route.js';
import { validate, version } from 'uuid';

const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const ID = '019b7c1e-0e6e-7000-8000-000000000001';
const EARLIER: Route = {
  id: '019b7c1e-0000-7000-8000-000000000000',
  method: 'GET',
  path: '/users/:id',
  middleware: ['log'],
  handler: 'getUser',
  createdAt: new Date(NOW_MS - 1000),
};
const { method, path, middleware, handler } = EARLIER;
const COMMAND: CreateCommand = {
  definition: { method, path, middleware, handler },
  caller: 'me',
  idempotencyKeys: [],
};
const KEY = { field: 'request_id', value: 'k' };

/** A fake store with these methods; test/store tests the real one. */
function storeThat(answers: Partial<RouteStore>): RouteStore {
  const empty: RouteStore = {
    insert: () => Promise.resolve<InsertOutcome>({ outcome: 'inserted' }),
    find: () => Promise.resolve(undefined),
    findByIdempotencyKey: () => Promise.resolve(undefined),
    findDuplicate: () => Promise.resolve(undefined),
    ping: () => Promise.resolve(),
  };
  return { ...empty, ...answers };
}

function registryOver(answers: Partial<RouteStore>): Registry {
  return new Registry({ store: storeThat(answers), now: () => NOW_MS, newId: () => ID });
}

describe('create', () => {
  it('returns the definition with the id and the time that the service assigns', async () => {
    await expect(registryOver({}).create(COMMAND)).resolves.toEqual({
      route: { ...COMMAND.definition, id: ID, createdAt: new Date(NOW_MS) },
      replayed: false,
    });
  });

  it('returns the first route when a request id is repeated with the same definition, and says so', async () => {
    const registry = registryOver({ insert: () => Promise.resolve({ outcome: 'repeated', route: EARLIER }) });
    await expect(registry.create({ ...COMMAND, idempotencyKeys: [KEY] })).resolves.toEqual({
      route: EARLIER,
      replayed: true,
    });
  });

  it('refuses a request id that was used for another definition, and names the first route', async () => {
    const registry = registryOver({
      insert: () => Promise.resolve({ outcome: 'repeated', route: { ...EARLIER, handler: 'other' } }),
    });
    await expect(registry.create({ ...COMMAND, idempotencyKeys: [KEY] })).rejects.toMatchObject({
      reason: 'REQUEST_ID_REUSED',
      metadata: { route_id: EARLIER.id },
    });
  });

  it('refuses a duplicate and names the id of the first route', async () => {
    const registry = registryOver({
      insert: () => Promise.resolve({ outcome: 'duplicate', id: EARLIER.id }),
    });
    await expect(registry.create(COMMAND)).rejects.toMatchObject({
      reason: 'ROUTE_EXISTS',
      metadata: { route_id: EARLIER.id },
    });
  });

  it('names the first fields of a request with many violations and their number', async () => {
    const definition = { ...COMMAND.definition, method: '', middleware: Array<string>(64).fill('') };
    await expect(registryOver({}).create({ ...COMMAND, definition })).rejects.toMatchObject({
      message:
        'The request is not valid: 65 violations, the first ones of route.method, ' +
        [0, 1, 2, 3, 4, 5, 6].map((index) => `route.middleware[${index}]`).join(', ') +
        '.',
      violations: { length: 65 },
    });
  });

  it('reports invalid fields of the route and an invalid request id together', async () => {
    const definition = { ...COMMAND.definition, method: '', middleware: [''] };
    await expect(
      registryOver({}).create({
        ...COMMAND,
        definition,
        idempotencyKeys: [{ field: 'request_id', value: 'a b' }],
      }),
    ).rejects.toMatchObject({
      reason: 'ROUTE_INVALID',
      message: 'The request is not valid: route.method, route.middleware[0], request_id.',
      violations: [{ field: 'route.method' }, { field: 'route.middleware[0]' }, { field: 'request_id' }],
    });
  });

  it.each([
    ['that is empty', [''], 'Must be 1 to 128 visible ASCII characters; got "".'],
    ['of 129 characters', ['k'.repeat(129)], 'Must be 1 to 128 visible ASCII characters; got 129.'],
    ['with a space', ['a b'], 'Must be 1 to 128 visible ASCII characters; got "a b".'],
    ['with a non-ASCII character', ['é'], 'Must be 1 to 128 visible ASCII characters; got "é".'],
    ['given twice with different values', ['a', 'b'], 'Must be given once; got different values.'],
  ])('refuses a request id %s', async (_, values, description) => {
    const idempotencyKeys = values.map((value) => ({ field: 'idempotency-key', value }));
    await expect(registryOver({}).create({ ...COMMAND, idempotencyKeys })).rejects.toMatchObject({
      reason: 'ROUTE_INVALID',
      message: `The request is not valid. idempotency-key: ${description}`,
      violations: [{ field: 'idempotency-key', description }],
    });
  });

  it('names the key that is invalid by its own place in the request', async () => {
    const idempotencyKeys = [
      { field: 'request_id', value: 'k' },
      { field: 'idempotency-key', value: '' },
    ];
    await expect(registryOver({}).create({ ...COMMAND, idempotencyKeys })).rejects.toMatchObject({
      violations: [
        { field: 'idempotency-key', description: 'Must be 1 to 128 visible ASCII characters; got "".' },
        { field: 'request_id', description: 'Must be given once; got different values.' },
      ],
    });
  });

  it('says how many violations a single field has', async () => {
    const definition = {
      ...COMMAND.definition,
      path: Array.from({ length: 200 }, (_, n) => String.raw`/:"${n}\-`).join(''),
    };
    await expect(registryOver({}).create({ ...COMMAND, definition })).rejects.toMatchObject({
      message: 'The request is not valid: 100 or more violations of route.path.',
    });
  });

  it('says exactly how many violations a request has whose path is read to its end', async () => {
    const middleware = Array<string>(64).fill(`\0${'m'.repeat(255)}`);
    const definition = { ...COMMAND.definition, middleware };
    await expect(registryOver({}).create({ ...COMMAND, definition })).rejects.toMatchObject({
      message: expect.stringMatching(
        /^The request is not valid: 128 violations, the first ones of /,
      ) as string,
      violations: { length: 128 },
    });
  });

  it('says that there may be more violations than it names if the path is not read to its end', async () => {
    const definition = { ...COMMAND.definition, method: 'GE T', path: `u/${'#'.repeat(100)})` };
    await expect(registryOver({}).create({ ...COMMAND, definition })).rejects.toMatchObject({
      message: 'The request is not valid: 3 or more violations of route.method, route.path.',
      violations: { length: 3 },
    });
  });

  it('accepts a request id of 128 characters, given twice with the same value', async () => {
    const value = '~'.repeat(128);
    const idempotencyKeys = ['request_id', 'idempotency-key'].map((field) => ({ field, value }));
    await expect(registryOver({}).create({ ...COMMAND, idempotencyKeys })).resolves.toMatchObject({
      route: { id: ID },
    });
  });
});

describe('check', () => {
  it('returns the definition and stores nothing', async () => {
    const registry = registryOver({ insert: () => Promise.reject(new Error('stored')) });
    await expect(registry.check(COMMAND)).resolves.toEqual(COMMAND.definition);
  });

  it('reports violations as create does', async () => {
    const definition = { ...COMMAND.definition, handler: '' };
    await expect(registryOver({}).check({ ...COMMAND, definition })).rejects.toMatchObject({
      reason: 'ROUTE_INVALID',
    });
  });

  it('reports a duplicate that the store refuses', async () => {
    const registry = registryOver({ findDuplicate: () => Promise.resolve(EARLIER.id) });
    await expect(registry.check(COMMAND)).rejects.toMatchObject({ reason: 'ROUTE_EXISTS' });
  });

  it('reports a request id that was used for another definition', async () => {
    const registry = registryOver({
      findByIdempotencyKey: () => Promise.resolve({ ...EARLIER, path: '/other' }),
    });
    await expect(registry.check({ ...COMMAND, idempotencyKeys: [KEY] })).rejects.toMatchObject({
      reason: 'REQUEST_ID_REUSED',
      metadata: { route_id: EARLIER.id },
    });
  });

  it('accepts a repeat of a create, even while duplicates are refused', async () => {
    const registry = registryOver({
      findByIdempotencyKey: () => Promise.resolve(EARLIER),
      findDuplicate: () => Promise.resolve(EARLIER.id),
    });
    await expect(registry.check({ ...COMMAND, idempotencyKeys: [KEY] })).resolves.toEqual(COMMAND.definition);
  });
});

describe('get', () => {
  it('returns the route', async () => {
    await expect(registryOver({ find: () => Promise.resolve(EARLIER) }).get(EARLIER.id)).resolves.toEqual(
      EARLIER,
    );
  });

  it('refuses an empty id', async () => {
    await expect(registryOver({}).get('')).rejects.toMatchObject({
      reason: 'ROUTE_INVALID',
      violations: [{ field: 'route_id', description: 'Must be the id of a route; got none.' }],
    });
  });

  it('does not find an id that the service did not issue', async () => {
    await expect(registryOver({}).get('x\n')).rejects.toMatchObject({
      reason: 'ROUTE_NOT_FOUND',
      message: 'There is no route with the id "x\\u{a}".',
    });
  });
});

describe('the id of a new route', () => {
  it('is a UUIDv7 in canonical lower case with the given time', () => {
    const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
    const id = newRouteId(nowMs);
    expect([validate(id), version(id), id]).toEqual([true, 7, id.toLowerCase()]);
    expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(nowMs);
  });

  it('is unique among many that are made in one millisecond', () => {
    const ids = Array.from({ length: 2_000 }, () => newRouteId(0));
    expect(new Set(ids).size).toBe(ids.length);
  });
});
