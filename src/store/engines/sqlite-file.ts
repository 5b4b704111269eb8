import { accessSync, closeSync, constants, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const { R_OK, W_OK, X_OK } = constants;

/**
 * Creates the folder and the file of the embedded database if they are missing, open to their owner alone, and checks that
 * the files can be written. SQLite itself would open read-only files, and fail only at the first insert.
 *
 * @throws Error with a sentence that names the file by its full path, the cause and the remedy
 */
export function requireWritable(file: string): void {
  const path = resolve(file);
  const folder = dirname(path);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const present = [path, `${path}-wal`, `${path}-shm`].filter((name) => kindOf(name) === 'file');
    for (const name of present) accessSync(name, R_OK | W_OK);
    if (present.length < 3) accessSync(folder, W_OK | X_OK);
    // Before SQLite does, which would let others read it. The files beside it get the same mode.
    closeSync(openSync(path, 'a', 0o600));
  } catch (error) {
    throw new Error(
      `The embedded database ${path} cannot be written: ${(error as Error).message}. Let this user write the file and its folder, or name another file in DATABASE_URL.`,
      { cause: error },
    );
  }
}

function kindOf(path: string): 'file' | 'none' {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return 'none';
  if (stats.isDirectory()) throw new Error(`${path} is a folder`);
  return 'file';
}
