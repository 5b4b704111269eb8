import { join } from 'node:path';
import { inject } from 'vitest';
import { Child } from '../../../bench/child.js';
import { rssMib } from '../../../bench/process-usage.js';
import { buildFolder } from '../../support/build-folder.js';
import { tokenFor } from '../../support/service.js';
import type { Load, LoadResult } from '../programs/load-messages.js';
import type { ServiceProcess } from './service-process.js';

const PROGRAMS = 'faults/test/faults/programs';
const SAMPLE_MS = 50;

/** Starts one of the load and attack programs. It ends with this process at the latest. */
export function startProgram(name: string, argument: unknown): Child {
  return new Child(
    [join(buildFolder('faults'), PROGRAMS, `${name}.js`), JSON.stringify(argument)],
    {},
    inject('temporaryFolder'),
  );
}

/** Runs a load against the service in another process. */
export async function runLoad(
  { grpc }: ServiceProcess,
  load: Partial<Load> & Pick<Load, 'connections' | 'durationMs'>,
): Promise<LoadResult> {
  const defaults = {
    target: grpc,
    operation: 'create',
    token: tokenFor(),
    ids: [],
    heedless: false,
    callers: 1_000_000,
  };
  const child = startProgram('load', { ...defaults, ...load });
  return (await child.message('measured')) as LoadResult;
}

/** The peak memory of a process while `during` is pending, in MiB. */
export async function peakMib<T>(pid: number, during: Promise<T>): Promise<{ result: T; mib: number }> {
  let mib = rssMib(pid);
  const timer = setInterval(() => {
    // A process that has ended counts as 0.
    mib = Math.max(mib, rssOf(pid));
  }, SAMPLE_MS);
  try {
    return { result: await during, mib };
  } finally {
    clearInterval(timer);
  }
}

function rssOf(pid: number): number {
  try {
    return rssMib(pid);
  } catch {
    return 0;
  }
}
