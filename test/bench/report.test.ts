import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { readRun, writeDocuments } from '../../bench/report.js';

const DOCS = resolve(import.meta.dirname, '../../docs');
const PAGES = ['performance.md', 'performance.svg', 'performance.json', 'scaling.md'];

it('the figures and the chart in docs/ are those of performance.json', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'docs-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const page of PAGES) await cp(join(DOCS, page), join(folder, page));
  await writeDocuments(folder, await readRun(DOCS));
  for (const page of PAGES)
    expect(await readFile(join(folder, page), 'utf8')).toBe(await readFile(join(DOCS, page), 'utf8'));
});
