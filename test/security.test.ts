import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SETTINGS } from '../src/settings/settings.js';
import { promisesIn } from './support/promises.js';

const ROOT = resolve(import.meta.dirname, '..');
const threats = promisesIn('SECURITY.md');

describe('SECURITY.md', () => {
  it('has threats', () => {
    expect(threats.length).toBeGreaterThan(20);
  });

  it.each(threats)('names tests that are there: $promise', ({ tests }) => {
    const missing = tests.flatMap(({ file, titles }) => {
      const source = readFileSync(resolve(import.meta.dirname, file), 'utf8');
      return titles.filter((title) => !source.includes(title));
    });
    expect(tests.flatMap(({ titles }) => titles)).not.toEqual([]);
    expect(missing).toEqual([]);
  });

  it.each(threats)('names settings and files that are there: $promise', ({ keepers }) => {
    expect(keepers.filter((name) => !(name in SETTINGS) && !existsSync(resolve(ROOT, name)))).toEqual([]);
  });
});
