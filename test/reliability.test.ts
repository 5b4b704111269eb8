import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SETTINGS } from '../src/settings/settings.js';
import { promisesIn } from './support/promises.js';

const FAULTS = resolve(import.meta.dirname, 'faults');
/** The file of a section whose rows name none. */
const ATTACKS = 'attacks.test.ts';

const promises = promisesIn('docs/reliability.md');

describe('docs/reliability.md', () => {
  it('has promises', () => {
    expect(promises.length).toBeGreaterThan(20);
  });

  it.each(promises)('names tests that are there: $promise', ({ tests }) => {
    const missing = tests.flatMap(({ file, titles }) => {
      const source = readFileSync(resolve(FAULTS, file === '' ? ATTACKS : file), 'utf8');
      return titles.filter((title) => !source.includes(title));
    });
    expect(missing).toEqual([]);
  });

  it.each(promises)('names settings that are there: $promise', ({ keepers }) => {
    expect(keepers.filter((name) => !(name in SETTINGS))).toEqual([]);
  });
});
