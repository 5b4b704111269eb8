import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import setUpServers from '../../support/global-setup.js';
import { FIGURES_FILE } from './figures.js';

/** Finds the servers as for all tests, and prints what the tests measured when the last one has ended. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const close = await setUpServers(project);
  return async () => {
    process.stderr.write(`\nMeasured:\n${figuresIn(project.getProvidedContext().temporaryFolder)}`);
    await close();
  };
}

function figuresIn(folder: string): string {
  try {
    return readFileSync(join(folder, FIGURES_FILE), 'utf8');
  } catch {
    return 'nothing\n';
  }
}
