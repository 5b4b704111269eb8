import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SETTINGS } from '../src/settings/settings.js';
import { promisesIn } from './support/promises.js';

const ROOT = resolve(import.meta.dirname, '..');

describe.each([
  ['SECURITY.md', 'test'],
  ['docs/reliability.md', 'test/faults'],
])('the promises of %s', (document, folder) => {
  const promises = promisesIn(document);

  it('are many', () => {
    expect(promises.length).toBeGreaterThan(20);
  });

  it.each(promises)('name tests, settings and files that are there: $promise', ({ tests, keepers }) => {
    // A row of docs/reliability.md that names no file is about attacks.
    const missing = tests.flatMap(({ file, titles }) => {
      const source = readFileSync(resolve(ROOT, folder, file || 'attacks.test.ts'), 'utf8');
      return titles.filter((title) => !source.includes(title));
    });
    expect(tests.flatMap(({ titles }) => titles)).not.toEqual([]);
    expect(missing).toEqual([]);
    expect(keepers.filter((name) => !(name in SETTINGS) && !existsSync(resolve(ROOT, name)))).toEqual([]);
  });
});
