import { mkdirSync, mkdtempSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, expect, inject, it } from 'vitest';
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

it('what is built is used while no source is newer', () => {
  expect(built('service', root)).toBe(join(root, 'dist'));
});

it.each([
  ['service', 'src/calls/new.ts', 'npm run build'],
  ['service', 'packages/transcoder/src/json/json-input.ts', 'npm run build'],
  ['examples', 'examples/typescript/client.ts', 'npm run build:examples'],
  ['fuzz', 'fuzz/rest/rest-case.ts', 'npm run build:fuzz'],
  ['faults', 'test/faults/programs/load.ts', 'npm run build:faults'],
] as const)('a test of %s names the build command when %s has changed since', (what, file, command) => {
  write('packages/client/src/index.ts', 1);
  write('packages/client/dist/.tsbuildinfo', 2);
  for (const mark of ['tsconfig.build.tsbuildinfo', 'fuzz/.tsbuildinfo', 'faults/.tsbuildinfo'])
    write(`dist/${mark}`, 2);
  write(file, 1);
  expect(built(what, root)).toBe(join(root, 'dist'));
  write(file, 3);
  expect(() => built(what, root)).toThrow(`${file} has changed since. Build it with: ${command}`);
});

it('a test names the build command when nothing is built', () => {
  root = mkdtempSync(join(inject('temporaryFolder'), 'built-'));
  write('packages/transcoder/src/index.ts', 1);
  expect(() => built('service', root)).toThrow('Build it with: npm run build');
});
