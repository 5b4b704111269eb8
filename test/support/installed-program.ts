import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { installPackages } from './apt.js';

/** Programs of administrators are often in folders that are not on the PATH of an ordinary user. */
const FOLDERS = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];

/** The path of a program of this machine; undefined for none. */
export async function findProgram(name: string): Promise<string | undefined> {
  for (const path of FOLDERS.map((folder) => join(folder, name))) {
    const usable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (usable) return path;
  }
  return undefined;
}

/**
 * The path of a program of this machine, installed as root from a package of Debian or Ubuntu where it is missing.
 *
 * @param why a clause that says what needs it
 * @throws Error with what to do, where there is none and it cannot be installed
 */
export async function installedProgram(name: string, packageName: string, why: string): Promise<string> {
  const found = await findProgram(name);
  if (found !== undefined) return found;
  try {
    await installPackages([packageName], `${why}, and none is on the PATH`);
  } catch (cause) {
    throw new Error(`${name} is missing: ${why}. Install it. It cannot be installed from packages here.`, {
      cause,
    });
  }
  const now = await findProgram(name);
  if (now === undefined) throw new Error(`The package ${packageName} was installed and has no ${name}.`);
  return now;
}
