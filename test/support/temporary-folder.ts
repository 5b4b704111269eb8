import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { watch } from './mysql-watchdog.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** A folder that is removed with its content when the run ends, for whatever reason. */
    temporaryFolder: string;
  }
}

/** Creates the temporary folder of a run. @returns a function that removes it */
export async function makeTemporaryFolder(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'rr-test-'));
  const watchdog = watch({ commands: [], afterwards: [['rm', '-rf', folder]] });
  project.provide('temporaryFolder', folder);
  return () => watchdog.stop();
}
