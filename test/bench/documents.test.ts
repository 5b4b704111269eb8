import { copyFile, readFile, rm } from 'node:fs/promises';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { CONTENDERS, KINDS } from '../../bench/contenders.js';
import { replacePart, writeDocuments } from '../../bench/report/documents.js';
import type { Run } from '../../bench/report/run.js';
import { QUICK } from '../../bench/scale.js';
import { scenarios } from '../../bench/scenarios.js';
import type { TargetName } from '../../bench/testbed.js';

const folder = mkdtempSync(join(tmpdir(), 'rr-documents-'));
afterAll(() => rm(folder, { recursive: true }));

/** A run in which the n-th scenario reaches n hundred requests per second. */
function runOf(targets: ReadonlySet<TargetName>): Run {
  const rows = scenarios(QUICK, targets)
    .flat()
    .map(({ name }, i) => ({ name, samples: [{ rate: (i + 1) * 100, serverCpuMs: (i + 1) / 1_000 }] }));
  const at = '2026-01-02T03:04:05.678Z';
  return { at, machine: 'a machine', database: 'MySQL', scale: QUICK, rows, anatomies: [] };
}

describe('the documents of a run', () => {
  const everybody = new Set(CONTENDERS.flatMap(({ targets }) => Object.values(targets)));
  const write = async (targets: ReadonlySet<TargetName>): Promise<Record<string, string>> => {
    await copyFile('docs/performance.md', join(folder, 'performance.md'));
    await writeDocuments(folder, runOf(targets));
    const read = (name: string): Promise<string> => readFile(join(folder, name), 'utf8');
    return {
      page: await read('performance.md'),
      chart: await read('performance.svg'),
      data: await read('performance-data.md'),
    };
  };

  it('have a row for each contender, a bar for each kind of request that it serves, and every scenario', async () => {
    const { page = '', chart = '', data = '' } = await write(everybody);
    for (const { title } of CONTENDERS) expect(page).toContain(`| ${title} `);
    const bars = CONTENDERS.flatMap(({ targets }) => Object.values(targets));
    expect(chart.match(/<rect class="(own|peer|limit)"/g)).toHaveLength(bars.length);
    for (const { name } of runOf(everybody).rows) expect(data).toContain(`| ${name} `);
  });

  it('leave out contenders that were not measured', async () => {
    const { page, chart } = await write(new Set(['service', 'gateway']));
    expect(page).toContain('| **Route Registry**, one process ');
    expect(page).not.toContain('| Go: ');
    expect(chart?.match(/<rect class="(own|peer|limit)"/g)).toHaveLength(KINDS.length + 2);
  });
});

it('a new part replaces the previous one and changes nothing else', () => {
  const text = 'a\n<!-- npm run bench -- --write: x -->\nold\n<!-- end: x -->\nb';
  const once = replacePart(text, 'x', 'new');
  expect(once).toBe('a\n<!-- npm run bench -- --write: x -->\n\nnew\n\n<!-- end: x -->\nb');
  expect(replacePart(once, 'x', 'new')).toBe(once);
});

it('replacing a part fails when the page lacks its markers', () => {
  expect(() => replacePart('a', 'x', 'new')).toThrow('The page has no part "x".');
});
