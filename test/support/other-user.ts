import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The ID of the user `nobody` and of its group on nearly every Unix. */
export const NOBODY = 65_534;

export const OTHER_USER_ADVICE = 'run the tests as root, in a folder that every user may read';

/** @throws Error if this process cannot run programs as `nobody`, or `nobody` cannot read this repository */
export async function tryOtherUser(): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('only root may run programs as another user');
  const repository = resolve(import.meta.dirname, '../..');
  await run('ls', [`${repository}/node_modules`], { uid: NOBODY, gid: NOBODY, cwd: '/' });
}
