import { resolve } from 'node:path';
import { testLayers } from '../../transcoder/test/support/layers.js';

testLayers({
  src: resolve(import.meta.dirname, '../src'),
  layers: [
    ['index.ts'],
    ['route-client.ts'],
    ['channel.ts', 'unary-caller.ts', 'route.ts'],
    ['bearer-token.ts', 'call-options.ts', 'connection-hint.ts', 'text.ts', 'tls-options.ts'],
    ['route-client-error.ts'],
    ['error-details.ts'],
    ['gen'],
  ],
  packages: ['@bufbuild/protobuf', '@grpc/grpc-js'],
});
