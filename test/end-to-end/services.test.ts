import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { comments } from '../../src/gen/comments.js';
import { descriptorSet } from '../../src/gen/descriptor-set.js';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '../../src/gen/healthcheck.js';
import { signToken } from '../../src/run/sign-token.js';
import { healthClient } from '../support/health-client.js';
import { openApi } from '../support/openapi.js';
import { reflectionOf } from '../support/reflection-client.js';
import { type Service, SERVICE_SETTINGS, startService } from '../support/service.js';

const PROTO = resolve(import.meta.dirname, '../../proto');

/** The full names of the services that are written in proto/. */
const SERVICES = readdirSync(PROTO, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.proto'))
  .map((name) => readFileSync(join(PROTO, name), 'utf8'))
  .flatMap((source) => {
    const [, name = ''] = /^package (.+);/m.exec(source) ?? [];
    return [...source.matchAll(/^service (\w+)/gm)].map(([, service = '']) => `${name}.${service}`);
  });

describe.each(SERVICES)('the service %s of the contract', (name) => {
  let service: Service;

  beforeAll(async () => {
    service = await startService({ databaseUrl: 'sqlite::memory:' });
  });

  afterAll(() => service.close());

  it('is in the generated descriptors with its comments, and in those for clients', () => {
    const sets = [descriptorSet, readFileSync(join(PROTO, 'route-registry.binpb'))];
    const known = sets.map((set) => createFileRegistry(fromBinary(FileDescriptorSetSchema, set)));
    expect(known.map((registry) => registry.getService(name)?.typeName)).toEqual([name, name]);
    const methods = known[0]?.getService(name)?.methods ?? [];
    const names = [name, ...methods.map((method) => `${name}.${method.name}`)];
    expect(Object.keys(comments)).toEqual(expect.arrayContaining(names));
  });

  it('is listed and described by reflection', async () => {
    const requests = [{ list_services: '*' }, { file_containing_symbol: name }];
    const [list, file] = await reflectionOf(service.grpcAddress, 'v1', ...requests);
    expect(list?.list_services_response?.service).toContainEqual({ name });
    expect(file?.file_descriptor_response?.file_descriptor_proto).not.toEqual([]);
  });

  it('has the health of the server', async () => {
    const client = healthClient(service.grpcAddress);
    const health = new Promise((resolve) =>
      client.check({ service: name }, (error, response) => {
        resolve(error?.message ?? response.status);
      }),
    );
    await expect(health).resolves.toBe(ServingStatus.SERVING);
  });
});

/** What an operation of the contract needs, as the OpenAPI document says it. */
const NEEDS = Object.values(openApi().paths)
  .flatMap((operations) => Object.values(operations))
  .filter(({ operationId }) => operationId !== 'checkHealth')
  .map(({ operationId, security = [] }) => ({ operationId, security }));

it.each(NEEDS)('$operationId needs a scope, for which npm run token signs tokens', ({ security }) => {
  expect(security).toEqual([{ bearer: [expect.any(String)] }]);
  const { bearer: [scope = ''] = [] } = security[0] ?? {};
  const terminal = { stdout: { write: () => true }, stderr: { write: () => true } };
  expect(signToken(['--scope', scope, '--sub', 'me'], SERVICE_SETTINGS, terminal)).toBe(0);
});
