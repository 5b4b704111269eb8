import { relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  cyclesAmong,
  importsOf,
  isOurs,
  packageOf,
  shown,
  sourceFiles,
} from '../../transcoder/test/support/source-imports.js';

const SRC = resolve(import.meta.dirname, '../src');
const files = sourceFiles(SRC);
const imports = files.flatMap(importsOf);

/** From the top down: each may import those below it. */
const LAYERS = [
  ['index.ts'],
  ['route-client.ts'],
  ['channel.ts', 'unary-caller.ts', 'route.ts'],
  ['bearer-token.ts', 'call-options.ts', 'text.ts'],
  ['route-client-error.ts'],
  ['error-details.ts'],
  ['gen'],
];

function layerOf(file: string): number {
  const [first = ''] = relative(SRC, file).split('/');
  return LAYERS.findIndex((layer) => layer.includes(first));
}

describe('the files of the package', () => {
  it('lie each in a layer', () => {
    expect(files.filter((file) => layerOf(file) === -1)).toEqual([]);
  });

  it('import nothing of a layer above their own', () => {
    const wrong = imports.filter((each) => isOurs(each) && layerOf(each.to) < layerOf(each.from));
    expect(wrong.map((each) => shown(each, SRC))).toEqual([]);
  });

  it('import each other without a circle', () => {
    expect(cyclesAmong(imports, SRC)).toEqual([]);
  });

  it('import nothing outside of the package but what it depends on', () => {
    const allowed = new Set([undefined, '@bufbuild/protobuf', '@grpc/grpc-js']);
    const wrong = imports.filter(
      (each) => !allowed.has(packageOf(each)) || (isOurs(each) && !each.to.startsWith(`${SRC}/`)),
    );
    expect(wrong.map((each) => shown(each, SRC))).toEqual([]);
  });
});
