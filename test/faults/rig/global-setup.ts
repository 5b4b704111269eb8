import type { TestProject } from 'vitest/node';
import setUpServers from '../../support/global-setup.js';
import { printFigures } from './figures.js';

/** Finds the servers as for all tests, and prints the figures after the last test. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const close = await setUpServers(project);
  return async () => {
    printFigures(project.getProvidedContext().temporaryFolder);
    await close();
  };
}
