import { resolve } from 'node:path';
import { testLayers } from './support/layers.js';

testLayers({
  src: resolve(import.meta.dirname, '../src'),
  layers: [
    ['bin.ts', 'command.ts', 'command-settings.ts', 'command-options.ts', 'foreign-requests.ts'],
    ['index.ts', 'reflection.ts', 'reflection', 'grpc-js.ts', 'grpc-js', 'openapi.ts', 'page.ts'],
    ['transcoder.ts'],
    ['page', 'openapi'],
    ['options.ts'],
    ['option-kinds.ts'],
    ['http', 'metadata.ts'],
    ['hooks.ts'],
    ['message'],
    ['json'],
    ['template'],
    ['failures'],
    ['fields'],
    [
      'http-reply.ts',
      'upstream.ts',
      'counts.ts',
      'log.ts',
      'request-observer.ts',
      'printable.ts',
      'timeouts.ts',
      'gen',
    ],
  ],
  packages: ['@bufbuild/protobuf'],
  packagesOfOne: {
    'http/reply.ts': ['lru-cache'],
    'page/swagger-ui.ts': ['swagger-ui-dist'],
    ...Object.fromEntries(
      [
        'command.ts',
        'command-settings.ts',
        'reflection.ts',
        ...['pauses', 'reflected-files', 'reflection-error', 'reflection-stream', 'take-contract'].map(
          (name) => `reflection/${name}.ts`,
        ),
        'grpc-js.ts',
        ...['call-failure', 'calls', 'channel-defaults', 'connections', 'tls-options'].map(
          (name) => `grpc-js/${name}.ts`,
        ),
      ].map((file) => [file, ['@grpc/grpc-js']]),
    ),
  },
});
