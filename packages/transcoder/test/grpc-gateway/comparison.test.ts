import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { alike, ROWS, startCompared } from './comparison.js';
import { DIFFERENCES, rowOf } from './differences.js';

const page = readFileSync(join(import.meta.dirname, '../../docs/from-grpc-gateway.md'), 'utf8');

describe.each(['strict', 'lenient'] as const)('a %s transcoder, compared with grpc-gateway', async (way) => {
  const compared = await startCompared(way === 'lenient');
  afterAll(compared.close);

  it.each([...new Set(ROWS.map(({ topic }) => topic))])(
    'responds alike or differs as the table says: %s',
    async (topic) => {
      const rows = ROWS.filter((row) => row.topic === topic);
      const found: string[] = [];
      for (const row of rows)
        found.push(
          `${alike(await compared.answer(row.request), row) ? 'alike' : 'different'}: ${row.request}`,
        );
      expect(found).toEqual(
        rows.map((row) => `${row[way] === undefined ? 'alike' : 'different'}: ${row.request}`),
      );
    },
  );
});

describe('the table of requests', () => {
  it('has each request once', () => {
    expect(new Set(ROWS.map(({ request }) => request)).size).toBe(ROWS.length);
  });

  it('shows exactly the differences that docs/from-grpc-gateway.md lists', () => {
    const shown = new Set(
      ROWS.flatMap(({ strict, lenient }) => [strict, lenient]).filter((name) => name !== undefined),
    );
    expect([...shown].sort()).toEqual(Object.keys(DIFFERENCES).sort());
    const [, section = ''] = page.split(
      '| request | grpc-gateway | here | with `lenient` |\n|---|---|---|---|\n',
    );
    const [table = ''] = section.split('\n\n');
    expect(table.split('\n')).toEqual(Object.values(DIFFERENCES).map(rowOf));
  });

  it('has the counts that docs/from-grpc-gateway.md gives', () => {
    const same = (way: 'strict' | 'lenient'): number => ROWS.filter((row) => row[way] === undefined).length;
    const counts = /(\d+) of (\d+) requests are answered alike, with `lenient` (\d+);/.exec(page);
    expect(counts?.slice(1).map(Number)).toEqual([same('strict'), ROWS.length, same('lenient')]);
  });
});
