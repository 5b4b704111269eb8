import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { loadFileDescriptorSetFromBuffer, loadSync } from '@grpc/proto-loader';
import { describe, expect, it } from 'vitest';
import { RouteServiceDefinition } from '../src/gen/routing/v1/route_service.js';
import { runningService } from './support/running-service.js';
import { tokenFor } from './support/service.js';

const ROOT = resolve(import.meta.dirname, '..');
const FILE = resolve(ROOT, 'proto/route-registry.binpb');
const bytes = readFileSync(FILE);
const METHODS = Object.values(RouteServiceDefinition.methods).map(({ name }) => name);

describe('proto/route-registry.binpb', () => {
  it('contains everything that it imports, and comments', () => {
    const { file } = fromBinary(FileDescriptorSetSchema, bytes);
    const names = file.map(({ name }) => name);
    const imported = file.flatMap(({ dependency }) => dependency);
    expect(imported.filter((name) => !names.includes(name))).toEqual([]);
    const contract = file.find(({ name }) => name === 'routing/v1/route_service.proto');
    expect(contract?.sourceCodeInfo?.location.some(({ leadingComments }) => leadingComments !== '')).toBe(
      true,
    );
  });

  it('contains every type of errors and health checks', () => {
    const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, bytes));
    const types = [
      'google.rpc.Status',
      'google.rpc.ErrorInfo',
      'google.rpc.BadRequest',
      'google.rpc.RetryInfo',
    ];
    for (const type of [...types, 'google.rpc.RequestInfo', 'grpc.health.v1.Health'])
      expect(registry.get(type)).toBeDefined();
  });

  it('loads in proto-loader on its own', () => {
    const definitions = loadFileDescriptorSetFromBuffer(bytes);
    expect(Object.keys(definitions['routing.v1.RouteService'] ?? {})).toEqual(METHODS);
  });
});

it('the sources load in proto-loader with third_party/googleapis as the second include path', () => {
  const definitions = loadSync('routing/v1/route_service.proto', {
    includeDirs: [resolve(ROOT, 'proto'), resolve(ROOT, 'third_party/googleapis')],
  });
  expect(Object.keys(definitions['routing.v1.RouteService'] ?? {})).toEqual(METHODS);
});

it('a service without reflection can be called by buf curl with the descriptor set', async () => {
  const { grpcAddress } = await runningService({ settings: { REFLECTION: 'off' } });
  const { stdout } = await promisify(execFile)(resolve(ROOT, 'node_modules/.bin/buf'), [
    ...['curl', '--protocol', 'grpc', '--http2-prior-knowledge', '--schema', FILE],
    ...['-H', `Authorization: Bearer ${tokenFor()}`],
    ...['-d', '{"route":{"method":"GET","path":"/","handler":"h"}}'],
    `http://${grpcAddress}/routing.v1.RouteService/CreateRoute`,
  ]);
  expect(JSON.parse(stdout)).toMatchObject({ method: 'GET', path: '/', handler: 'h' });
});
