import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SETTINGS } from '../src/settings/settings.js';

const FAULTS = resolve(import.meta.dirname, 'faults');
/** The file of a section whose rows name none. */
const ATTACKS = 'attacks.test.ts';

const document = readFileSync(resolve(import.meta.dirname, '../docs/reliability.md'), 'utf8');

/** Each promise with what keeps it, and the titles in the file that breaks it. */
const promises = [...document.matchAll(/^\| ([^|]*) \| ([^|]*) \| (.*".*) \|$/gm)].map(
  ([, promise = '', keepers = '', breakers = '']) => ({
    promise,
    settings: [...keepers.matchAll(/`([A-Z_]+)`/g)].map(([, name = '']) => name),
    file: /`([^`]*\.test\.ts)`/.exec(breakers)?.[1] ?? ATTACKS,
    titles: [...breakers.matchAll(/"([^"]*)"/g)].map(([, title = '']) => title),
  }),
);

describe('docs/reliability.md', () => {
  it('has promises', () => {
    expect(promises.length).toBeGreaterThan(20);
  });

  it.each(promises)('names tests that are there: $promise', ({ file, titles }) => {
    const source = readFileSync(resolve(FAULTS, file), 'utf8');
    expect(titles.filter((title) => !source.includes(title))).toEqual([]);
  });

  it.each(promises)('names settings that are there: $promise', ({ settings }) => {
    expect(settings.filter((name) => !(name in SETTINGS))).toEqual([]);
  });
});
