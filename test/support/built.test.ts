import { mkdirSync, mkdtempSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, inject, it } from 'vitest';
import { built } from './built.js';

let root: string;

/** Writes a file that was last modified at this time, in seconds since the epoch. */
function write(file: string, second: number): void {
  const path = join(root, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '');
  utimesSync(path, second, second);
}

beforeEach(() => {
  root = mkdtempSync(join(inject('temporaryFolder'), 'built-'));
  write('packages/transcoder/src/index.ts', 1);
  write('packages/transcoder/dist/.tsbuildinfo', 2);
  write('src/main.ts', 1);
  write('dist/.tsbuildinfo', 2);
});

describe('built', () => {
  it('returns the build folder when no source is newer', () => {
    expect(built('service', root)).toBe(join(root, 'dist'));
  });

  it.each(['src/main.ts', 'src/calls/new.ts', 'packages/transcoder/src/json/json-input.ts'])(
    'names the build command when %s has changed since the build',
    (file) => {
      write(file, 3);
      expect(() => built('service', root)).toThrow(
        `This test runs what is built, but ${file} has changed since. Build it with: npm run build`,
      );
    },
  );

  it.each([
    ['examples', 'examples/typescript/client.ts', 'npm run build:examples'],
    ['fuzz', 'fuzz/rest/rest-case.ts', 'npm run build:fuzz'],
    ['faults', 'test/faults/programs/load.ts', 'npm run build:faults'],
  ] as const)('names the build command of %s when %s has changed since the build', (what, file, command) => {
    write('packages/client/src/index.ts', 1);
    write('packages/client/dist/.tsbuildinfo', 2);
    for (const mark of ['tsconfig.build.tsbuildinfo', 'fuzz/.tsbuildinfo', 'faults/.tsbuildinfo'])
      write(`dist/${mark}`, 2);
    write(file, 1);
    expect(built(what, root)).toBe(join(root, 'dist'));
    write(file, 3);
    expect(() => built(what, root)).toThrow(`${file} has changed since. Build it with: ${command}`);
  });

  it('names the build command when nothing is built', () => {
    root = mkdtempSync(join(inject('temporaryFolder'), 'built-'));
    write('packages/transcoder/src/index.ts', 1);
    expect(() => built('service', root)).toThrow('Build it with: npm run build');
  });
});
