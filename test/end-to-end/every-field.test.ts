import { createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createRouteClient, type RouteClient } from '../../packages/client/src/index.js';
import { descriptorSet } from '../../src/gen/descriptor-set.js';
import { type Setting, SETTINGS } from '../../src/settings/table.js';
import { engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import { openApi, validatorOf } from '../support/openapi.js';
import { post, requestOf } from '../support/requests.js';
import { errorInfoOf, richErrorOfCall, richErrorOfResponse } from '../support/rich-error.js';
import { create, get, metadataOf, type Service, startServiceOn, tokenFor } from '../support/service.js';

/** A value for each field that a client sets; all differ from their defaults and from each other. */
const DEFINITION = {
  method: 'A-METHOD',
  path: '/every/:field',
  middleware: ['a-middleware', 'another'],
  handler: 'a-handler',
};

/** Each of them at its longest. */
const LONGEST: typeof DEFINITION = {
  method: 'M'.repeat(32),
  path: `/:p/${'p'.repeat(2_044)}`,
  middleware: Array<string>(64).fill('中'.repeat(255)),
  handler: '😀'.repeat(255),
};

/** Each of them one character, or one name, longer. */
const TOO_LONG: typeof DEFINITION = {
  method: `${LONGEST.method}M`,
  path: `${LONGEST.path}p`,
  middleware: [...LONGEST.middleware, 'another'],
  handler: `${LONGEST.handler}😀`,
};

/** One more than the default of every number that can be set: none may move a bound, which OpenAPI states for everybody. */
const OTHER_NUMBERS = Object.fromEntries(
  Object.entries<Setting>(SETTINGS)
    .filter(([, [, fallback = '']]) => /^[1-9]\d*$/.test(fallback))
    .map(([name, [, fallback]]) => [name, String(Number(fallback) + 1)]),
);

it('every field of a route has a value here, or is assigned by the service', () => {
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptorSet));
  const fields = registry.getMessage('routing.v1.Route')?.fields.map(({ jsonName }) => jsonName);
  expect(fields?.sort()).toEqual(['id', ...Object.keys(DEFINITION), 'createdAt'].sort());
});

it.each(Object.entries(TOO_LONG))('OpenAPI has the bound of %s', (field, value: unknown) => {
  const isRouteInput = validatorOf(openApi()).compile({ $ref: 'openapi#/components/schemas/RouteInput' });
  expect(isRouteInput(LONGEST)).toBe(true);
  expect(isRouteInput({ ...LONGEST, [field]: value })).toBe(false);
});

/** One way to call the service. */
interface Way {
  check(): Promise<unknown>;
  create(): Promise<unknown>;
  get(id: string): Promise<unknown>;
}

const WAYS = ['gRPC', 'REST', 'the client'] as const;

describeOn(engines)('on $name', (engine) => {
  let service: Service;
  let client: RouteClient;
  let ways: Readonly<Record<(typeof WAYS)[number], Way>>;

  beforeAll(async () => {
    // No cache, so that each get reads the store.
    service = await startServiceOn(engine, { settings: { ...OTHER_NUMBERS, ROUTE_CACHE_MIB: '0' } });
    client = createRouteClient(service.grpcAddress, { token: tokenFor() });
    const metadata = metadataOf(tokenFor());
    const headers = { authorization: `Bearer ${tokenFor()}`, 'content-type': 'application/json' };
    const rest = async (path: string, init: RequestInit = {}): Promise<unknown> =>
      (await fetch(`${service.httpUrl}/v1/routing${path}`, { ...init, headers })).json();
    ways = {
      gRPC: {
        check: async () =>
          (await create(service.client, requestOf(DEFINITION, { validateOnly: true }), metadata)).route,
        create: async () => (await create(service.client, requestOf(DEFINITION), metadata)).route,
        get: async (id) => (await get(service.client, id, metadata)).route,
      },
      REST: {
        check: () => rest('?validateOnly=true', { method: 'POST', body: JSON.stringify(DEFINITION) }),
        create: () => rest('', { method: 'POST', body: JSON.stringify(DEFINITION) }),
        get: (id) => rest(`/${id}`),
      },
      'the client': {
        check: () => client.checkRoute(DEFINITION),
        create: () => client.createRoute(DEFINITION),
        get: (id) => client.getRoute(id),
      },
    };
  });

  afterAll(async () => {
    client.close();
    await service.close();
  });

  it.each(WAYS.flatMap((creating) => WAYS.map((getting) => [creating, getting] as const)))(
    'every field of a create with %s is in its response and in a get with %s',
    async (creating, getting) => {
      const created = asJson(await ways[creating].create());
      const { id, createdAt } = created;
      expect(created).toEqual({ ...DEFINITION, id, createdAt });
      expect(id).toMatch(/^[0-9a-f-]{36}$/);
      expect(createdAt).toMatch(/^\d{4}-.*\.\d{3}Z$/);
      expect(asJson(await ways[getting].get(id))).toEqual(created);
    },
  );

  it.each(WAYS)('every field is in the response to a dry run with %s', async (checking) => {
    expect(await ways[checking].check()).toMatchObject(DEFINITION);
  });

  it.each(Object.entries(TOO_LONG))(
    'a create whose %s is too long is refused',
    async (field, value: unknown) => {
      const refusal = await post(service, { ...LONGEST, [field]: value });
      expect(refusal.status).toBe(400);
      const { details } = await richErrorOfResponse(refusal);
      expect(details).toContainEqual(
        expect.objectContaining({ fieldViolations: [expect.objectContaining({ field: `route.${field}` })] }),
      );
    },
  );

  it.each(Object.entries(LONGEST))(
    'a repeat that changes only its %s is refused',
    async (field, value: unknown) => {
      const key = { 'idempotency-key': `only-${field}` };
      const { id } = asJson(await (await post(service, DEFINITION, key)).json());
      const refusal = await post(service, { ...DEFINITION, [field]: value }, key);
      const info = { reason: 'REQUEST_ID_REUSED', metadata: { route_id: id } };
      expect(errorInfoOf(await richErrorOfResponse(refusal))).toMatchObject(info);
    },
  );

  it('every field is kept at its longest, and so is what duplicates share', async () => {
    const strict = await startServiceOn(engine, {
      settings: { ROUTE_CACHE_MIB: '0', DUPLICATE_ROUTES: 'reject' },
    });
    onTestFinished(() => strict.close());
    const metadata = metadataOf(tokenFor());
    const { route } = await create(strict.client, requestOf(LONGEST), metadata);
    const { id = '' } = route ?? {};
    const { route: found } = await get(strict.client, id, metadata);
    expect(found).toMatchObject(LONGEST);
    const duplicate = { ...LONGEST, path: LONGEST.path.replace('/:p/', '/:q/') };
    const refusal = richErrorOfCall(await create(strict.client, requestOf(duplicate), metadata));
    expect(errorInfoOf(refusal)).toMatchObject({ reason: 'ROUTE_EXISTS', metadata: { route_id: id } });
    const other = { ...LONGEST, path: LONGEST.path.replace(/p$/, 'q') };
    const { error } = await create(strict.client, requestOf(other), metadata);
    expect(error).toBeUndefined();
  });
});

/** A route in JSON, where a Date is its text. */
function asJson(route: unknown): { readonly id: string; readonly createdAt: string } {
  return JSON.parse(JSON.stringify(route)) as { id: string; createdAt: string };
}
