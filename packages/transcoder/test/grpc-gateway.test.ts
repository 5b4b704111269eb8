import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { alike, recorded, startCompared } from './grpc-gateway/comparison.js';
import { DIFFERENCES, rowOf } from './grpc-gateway/differences.js';
import { ROWS } from './grpc-gateway/rows/index.js';

const page = readFileSync(join(import.meta.dirname, '../docs/from-grpc-gateway.md'), 'utf8');
const all = Object.values(ROWS).flat();

describe.each(['strict', 'lenient'] as const)('a %s transcoder, compared with grpc-gateway', async (way) => {
  const compared = await startCompared(way === 'lenient');
  afterAll(compared.close);

  it.each(Object.entries(ROWS))('responds alike or differs as the table says: %s', async (_, rows) => {
    const found: string[] = [];
    const told: string[] = [];
    for (const row of rows) {
      const theirs = recorded.get(row.request);
      const ours = await compared.answer(row.request);
      const same = theirs !== undefined && alike(ours, theirs);
      found.push(`${same ? 'alike' : 'different'}: ${row.request}`);
      told.push(`${row[way] === undefined ? 'alike' : 'different'}: ${row.request}`);
    }
    expect(found).toEqual(told);
  });
});

describe('the table of requests', () => {
  it('has each recorded request exactly once', () => {
    const requests = all.map(({ request }) => request);
    expect(new Set(requests).size).toBe(requests.length);
    expect([...recorded.keys()].sort()).toEqual(requests.sort());
  });

  it('shows exactly the differences that docs/from-grpc-gateway.md lists', () => {
    const shown = new Set(
      all.flatMap(({ strict, lenient }) => [strict, lenient]).filter((each) => each !== undefined),
    );
    expect([...shown].sort()).toEqual(Object.keys(DIFFERENCES).sort());
    const [, section = ''] = page.split(
      '| request | grpc-gateway | here | with `lenient` |\n|---|---|---|---|\n',
    );
    const [table = ''] = section.split('\n\n');
    expect(table.split('\n')).toEqual(Object.values(DIFFERENCES).map(rowOf));
  });

  it('has the counts that docs/from-grpc-gateway.md gives', () => {
    const same = (way: 'strict' | 'lenient'): number => all.filter((row) => row[way] === undefined).length;
    const told = /(\d+) of (\d+) requests are answered alike, with `lenient` (\d+);/.exec(page);
    expect(told?.slice(1).map(Number)).toEqual([same('strict'), all.length, same('lenient')]);
  });
});
