import { resolve } from 'node:path';
import { testLayers } from '../../transcoder/test/support/layers.js';

testLayers({
  src: resolve(import.meta.dirname, '../src'),
  layers: [
    ['index.ts'],
    ['route-client.ts'],
    ['call-sender.ts', 'route.ts'],
    ['channel.ts'],
    ['call-options.ts', 'failed-call.ts', 'route-client-error.ts', 'tls-options.ts'],
    ['bearer-token.ts', 'error-details.ts', 'input.ts'],
    ['gen'],
  ],
  packages: ['@bufbuild/protobuf', '@grpc/grpc-js'],
});
