import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Metadata } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';
import { withGatewayHeaders } from '../examples/gateway-headers.js';
import { Code } from '../src/gen/google/rpc/code_pb.js';
import type { CallMetadata, Upstream } from '../src/upstream.js';
import { httpRequest } from './support/http-request.js';
import { libraryDescriptorSet } from './support/library-contract.js';

const folder = join(import.meta.dirname, '..');

it("the README shows the example with grpc-gateway's headers", () => {
  const example = readFileSync(join(folder, 'examples/gateway-headers.ts'), 'utf8');
  expect(readFileSync(join(folder, 'README.md'), 'utf8')).toContain(example);
});

it("grpc-gateway's headers for metadata are taken and sent", async () => {
  const calls: CallMetadata[] = [];
  const upstream: Upstream = {
    unary({ metadata }) {
      calls.push(metadata);
      const initialMetadata = new Metadata();
      initialMetadata.set('x-quota', '7');
      return { code: Code.OK, details: '', answered: true, message: new Uint8Array(), initialMetadata };
    },
  };
  const server = createServer(withGatewayHeaders({ descriptorSet: libraryDescriptorSet, upstream }).handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const headers = {
    Authorization: 'Bearer a',
    'User-Agent': 'test',
    'Grpc-Metadata-Tenant': 't',
    'Grpc-Metadata-Authorization': 'Bearer b',
  };
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const response = await httpRequest(origin, { path: '/v1/shelves/1', headers });
  expect(response.headers).toMatchObject({ 'grpc-metadata-x-quota': '7' });
  expect(calls.map((call) => [...call.keys()])).toEqual([
    ['x-request-id', 'authorization', 'grpcgateway-user-agent', 'tenant'],
  ]);
  expect(calls[0]?.get('authorization')).toBe('Bearer a');
});
