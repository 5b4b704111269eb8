import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import setUpFaults from '../../faults/rig/global-setup.js';
import { type GaleraPrograms, galeraPrograms } from './galera-programs.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** What the tests of clusters need; null where it cannot be had. */
    galera: GaleraPrograms | null;
  }
}

/** As for the tests of faults; says so loudly where the programs of clusters cannot be had. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const close = await setUpFaults(project);
  const folder = await mkdtemp(join(project.getProvidedContext().temporaryFolder, 'galera-'));
  const programs = await galeraPrograms(folder).catch((error: unknown) => {
    process.stderr.write(
      `\nSKIPPED: the tests of clusters, which need MariaDB with Galera, rsync and HAProxy: ${String(error)}\n\n`,
    );
    return null;
  });
  project.provide('galera', programs);
  return close;
}
