import type { TestProject } from 'vitest/node';
import { printFigures } from '../../faults/rig/figures.js';
import { makeTemporaryFolder } from '../../support/temporary-folder.js';
import { type GaleraPrograms, galeraPrograms } from './galera-programs.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** The programs that the tests of clusters need; null where they cannot be had. */
    galera: GaleraPrograms | null;
  }
}

/** Finds the programs of clusters, or says what cannot be had; prints in the end what the tests measured. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const removeFolder = await makeTemporaryFolder(project);
  const { temporaryFolder } = project.getProvidedContext();
  const programs = await galeraPrograms(temporaryFolder).catch((error: unknown) => {
    process.stderr.write(`\nSKIPPED: the tests of clusters: ${(error as Error).message}\n\n`);
    return null;
  });
  project.provide('galera', programs);
  return async () => {
    if (programs !== null) printFigures(temporaryFolder);
    await removeFolder();
  };
}
