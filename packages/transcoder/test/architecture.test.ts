import { resolve } from 'node:path';
import { testLayers } from './support/layers.js';

testLayers({
  src: resolve(import.meta.dirname, '../src'),
  layers: [
    ['command'],
    ['index.ts', 'grpc-js.ts', 'grpc-js', 'openapi.ts', 'page.ts'],
    ['page'],
    ['transcoder.ts'],
    ['openapi'],
    ['http', 'metadata', 'options.ts'],
    ['option-kinds.ts'],
    ['hooks.ts'],
    ['message'],
    ['json'],
    ['template'],
    ['failures'],
    ['fields'],
    ['http-reply.ts', 'upstream.ts', 'counts.ts', 'printable.ts', 'timeouts.ts', 'gen'],
  ],
  packages: ['@bufbuild/protobuf'],
  packagesOfOne: {
    'http/reply-cache.ts': ['lru-cache'],
    'page/swagger-ui.ts': ['swagger-ui-dist'],
    ...Object.fromEntries(
      [
        ...['settings', 'reflection'].map((name) => `command/${name}.ts`),
        ...['time-slices', 'reflected-files', 'reflection-error', 'reflection-stream', 'take-contract'].map(
          (name) => `command/reflection/${name}.ts`,
        ),
        'grpc-js.ts',
        ...['call-failure', 'calls', 'channel-defaults', 'connections', 'tls-options'].map(
          (name) => `grpc-js/${name}.ts`,
        ),
      ].map((file) => [file, ['@grpc/grpc-js']]),
    ),
  },
});
