import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const { R_OK, W_OK, X_OK } = constants;

/**
 * Creates the folder of the embedded database if it is missing, and checks that the files can be written. SQLite itself
 * would open them read-only, and fail with the first create.
 *
 * @throws Error with a sentence that names the file and the cause
 */
export function requireWritable(file: string): void {
  const folder = dirname(resolve(file));
  try {
    mkdirSync(folder, { recursive: true });
    const present = [file, `${file}-wal`, `${file}-shm`].filter((path) => kindOf(path) === 'file');
    for (const path of present) accessSync(path, R_OK | W_OK);
    if (present.length < 3) accessSync(folder, W_OK | X_OK);
  } catch (error) {
    throw new Error(
      `The embedded database ${file} cannot be written: ${(error as Error).message}. Let this user write the file and its folder, or name another file in DATABASE_URL.`,
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
