import { relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cyclesAmong, importsOf, isOurs, packageOf, shown, sourceFiles } from './support/source-imports.js';

const SRC = resolve(import.meta.dirname, '../src');
const files = sourceFiles(SRC);
const imports = files.flatMap(importsOf);

/**
 * From the top down: each may import those below it. The files directly in `src` have layers of their own.
 */
const LAYERS = [
  ['index.ts', 'description.ts'],
  ['transcoder.ts'],
  ['options.ts'],
  ['http'],
  ['message'],
  ['json'],
  ['template'],
  ['failures'],
  ['fields'],
  ['http-reply.ts', 'upstream.ts', 'log.ts', 'gen'],
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
    const allowed = new Set([undefined, '@bufbuild/protobuf', 'raw-body']);
    const wrong = imports.filter(
      (each) => !allowed.has(packageOf(each)) || (isOurs(each) && !each.to.startsWith(`${SRC}/`)),
    );
    expect(wrong.map((each) => shown(each, SRC))).toEqual([]);
  });
});
