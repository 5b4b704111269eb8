import { resolve } from 'node:path';
import { testLayers } from './support/layers.js';

testLayers({
  src: resolve(import.meta.dirname, '../src'),
  layers: [
    ['index.ts', 'grpc-js.ts', 'grpc-js', 'openapi.ts', 'page.ts'],
    ['transcoder.ts'],
    ['page', 'openapi'],
    ['options.ts'],
    ['http'],
    ['message'],
    ['json'],
    ['template'],
    ['failures'],
    ['fields'],
    ['http-reply.ts', 'upstream.ts', 'log.ts', 'request-observer.ts', 'gen'],
  ],
  packages: ['@bufbuild/protobuf'],
  packagesOfOne: Object.fromEntries(
    ['grpc-js.ts', 'grpc-js/calls.ts', 'grpc-js/call-failure.ts'].map((file) => [file, ['@grpc/grpc-js']]),
  ),
});
