import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { testLayers } from '../../transcoder/test/support/layers.js';

testLayers({
  src: resolve(import.meta.dirname, '../src'),
  layers: [
    ['index.ts', 'testing.ts'],
    ['memory-caller.ts'],
    ['route-client.ts'],
    ['channel.ts', 'unary-caller.ts', 'route.ts'],
    ['prepared-call.ts'],
    ['connection.ts', 'failed-call.ts'],
    ['call-limits.ts', 'connection-hint.ts', 'resets.ts', 'retries.ts', 'tls-options.ts'],
    ['bearer-token.ts', 'call-options.ts', 'route-client-error.ts'],
    ['error-details.ts', 'text.ts'],
    ['gen'],
  ],
  packages: ['@bufbuild/protobuf', '@grpc/grpc-js'],
});

const TRANSCODER = resolve(import.meta.dirname, '../../transcoder/src/grpc-js');
const CLIENT = resolve(import.meta.dirname, '../src');

it.each(['resets.ts', 'tls-options.ts'])(
  '%s, which neither package can import from the other, is the same in both',
  (name) => {
    expect(readFileSync(`${CLIENT}/${name}`, 'utf8')).toBe(readFileSync(`${TRANSCODER}/${name}`, 'utf8'));
  },
);
