import { createServer } from 'node:http';
import { Metadata } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { withGatewayHeaders } from '../../examples/gateway-headers.js';
import { Code } from '../../src/gen/google/rpc/code_pb.js';
import type { CallMetadata, Upstream } from '../../src/upstream.js';
import { httpRequest } from '../support/http-request.js';
import { libraryDescriptorSet } from '../support/library-contract.js';
import { listening } from '../support/opening.js';

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
  const { handler } = withGatewayHeaders({ descriptorSet: libraryDescriptorSet, upstream });
  const origin = await listening(createServer(handler));
  const headers = {
    Authorization: 'Bearer a',
    'User-Agent': 'test',
    'Grpc-Metadata-Tenant': 't',
    'Grpc-Metadata-Authorization': 'Bearer b',
  };
  const response = await httpRequest(origin, { path: '/v1/shelves/1', headers });
  expect(response.headers).toMatchObject({ 'grpc-metadata-x-quota': '7' });
  expect(calls.map((call) => [...call.keys()])).toEqual([
    ['x-request-id', 'authorization', 'grpcgateway-user-agent', 'tenant'],
  ]);
  expect(calls[0]?.get('authorization')).toBe('Bearer a');
});
