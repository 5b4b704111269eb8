import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  createFileRegistry,
  type DescField,
  type DescMessage,
  fromBinary,
  fromJson,
  getOption,
  type JsonObject,
  type JsonValue,
  ScalarType,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  createRouteClient,
  type RouteClient,
  type RouteDefinition,
} from '../../packages/client/src/index.js';
import { engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import { metadataOf, type Service, startServiceOn, tokenFor } from '../support/service.js';

const SET = readFileSync(resolve(import.meta.dirname, '../../proto/route-registry.binpb'));
const REGISTRY = createFileRegistry(fromBinary(FileDescriptorSetSchema, SET));
const BEHAVIOR = present(REGISTRY.getExtension('google.api.field_behavior'));
const ROUTE = messageNamed('Route');
/** `google.api.FieldBehavior` */
const OUTPUT_ONLY = 3;
/** Values for fields that do not accept every value of their type. */
const SPECIAL: Readonly<Record<string, JsonValue>> = { path: '/every/:field' };

/** A route whose fields all differ from their defaults and from each other, as JSON. */
const DEFINITION = Object.fromEntries(
  ROUTE.fields.filter((field) => !isOutputOnly(field)).map((field) => [field.jsonName, valueOf(field)]),
);

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('The descriptors lack what the test looks for.');
  return value;
}

function messageNamed(name: string): DescMessage {
  return present(REGISTRY.getMessage(`routing.v1.${name}`));
}

function isOutputOnly(field: DescField): boolean {
  return (getOption(field, BEHAVIOR) as readonly number[]).includes(OUTPUT_ONLY);
}

function valueOf(field: DescField): JsonValue {
  const special = SPECIAL[field.name];
  if (special !== undefined) return special;
  switch (field.fieldKind) {
    case 'scalar':
      return scalarOf(field.scalar, field, 0);
    case 'enum':
      return present(field.enum.values.at(-1)).name;
    case 'list':
      if (field.listKind === 'scalar') return [1, 2].map((item) => scalarOf(field.scalar, field, item));
      break;
    case 'map':
    case 'message':
      break;
  }
  throw new Error(`Give the field ${field.name} a value in SPECIAL.`);
}

function scalarOf(type: ScalarType, { name, number }: DescField, item: number): JsonValue {
  if (type === ScalarType.STRING) return item === 0 ? `a-${name}` : `a-${name}-${item}`;
  if (type === ScalarType.BOOL) return true;
  if (type === ScalarType.BYTES) return Buffer.from(`${name}-${item}`).toString('base64');
  return fromNumber(type, 100 * number + item);
}

/** ProtoJSON writes 64-bit integers as strings. */
function fromNumber(type: ScalarType, value: number): JsonValue {
  const long = [ScalarType.INT64, ScalarType.UINT64, ScalarType.SINT64, ScalarType.FIXED64];
  return [...long, ScalarType.SFIXED64].includes(type) ? String(value) : value;
}

/** One way to call the service, with routes as ProtoJSON. */
interface Way {
  create(route: JsonObject): Promise<JsonValue>;
  get(id: string): Promise<JsonValue>;
}

const WAYS = ['gRPC', 'REST', 'the client'] as const;

describeOn(engines)('on $name', (engine) => {
  let service: Service;
  let grpc: Client;
  let client: RouteClient;
  let ways: Readonly<Record<(typeof WAYS)[number], Way>>;

  beforeAll(async () => {
    // No cache, so that each get reads the store.
    service = await startServiceOn(engine, { settings: { ROUTE_CACHE_MIB: '0' } });
    grpc = new Client(service.grpcAddress, credentials.createInsecure());
    client = createRouteClient(service.grpcAddress, {
      token: tokenFor(),
    });
    ways = {
      gRPC: {
        create: (route) => unary('CreateRoute', { route }),
        get: (routeId) => unary('GetRoute', { routeId }),
      },
      REST: {
        create: (route) => request('', { method: 'POST', body: JSON.stringify(route) }),
        get: (id) => request(`/${id}`, {}),
      },
      'the client': {
        create: async (route) => jsonOf(await client.createRoute(definitionOf(route))),
        get: async (id) => jsonOf(await client.getRoute(id)),
      },
    };
  });

  afterAll(async () => {
    grpc.close();
    client.close();
    await service.close();
  });

  function unary(method: string, message: JsonObject): Promise<JsonValue> {
    const request = messageNamed(`${method}Request`);
    return new Promise((resolve, reject) => {
      grpc.makeUnaryRequest(
        `/routing.v1.RouteService/${method}`,
        (value: JsonObject) => Buffer.from(toBinary(request, fromJson(request, value))),
        (bytes) => toJson(ROUTE, fromBinary(ROUTE, bytes)),
        message,
        metadataOf(tokenFor()),
        (error, route) => {
          if (error === null) resolve(present(route));
          else reject(error);
        },
      );
    });
  }

  async function request(path: string, init: RequestInit): Promise<JsonValue> {
    const headers = { authorization: `Bearer ${tokenFor()}`, 'content-type': 'application/json' };
    const response = await fetch(`${service.httpUrl}/v1/routing${path}`, { ...init, headers });
    return (await response.json()) as JsonValue;
  }

  it.each(WAYS.flatMap((creating) => WAYS.map((getting) => [creating, getting] as const)))(
    'every field of a create with %s is in its response and in a get with %s',
    async (creating, getting) => {
      const created = (await ways[creating].create(DEFINITION)) as { id: string; createdAt: string };
      const { id, createdAt } = created;
      expect(created).toEqual({ ...DEFINITION, id, createdAt });
      expect(id).toMatch(/^[0-9a-f-]{36}$/);
      expect(createdAt).toMatch(/^\d{4}-.*Z$/);
      const got = (await ways[getting].get(id)) as typeof created;
      // The JSON of protobuf leaves out the milliseconds of a whole second, which REST shows.
      expect(new Date(got.createdAt)).toEqual(new Date(createdAt));
      expect(got).toEqual({ ...created, createdAt: got.createdAt });
    },
  );
});

/** A route as the client takes it, with TypeScript names. */
function definitionOf(route: JsonObject): RouteDefinition {
  const message = fromJson(ROUTE, route) as unknown as Record<string, unknown>;
  const given = ROUTE.fields.filter(({ jsonName }) => jsonName in route);
  return Object.fromEntries(
    given.map(({ localName }) => [localName, message[localName]]),
  ) as unknown as RouteDefinition;
}

/** A route from the client, as ProtoJSON. */
function jsonOf(route: object): JsonValue {
  const values = Object.entries(route).map(([name, value]: [string, unknown]) => [name, plain(value)]);
  return Object.fromEntries(values) as JsonObject;
}

function plain(value: unknown): JsonValue {
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  return typeof value === 'bigint' ? String(value) : (value as JsonValue);
}
