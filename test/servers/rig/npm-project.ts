import { cp, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { npmPackages } from '../../support/npm-packages.js';

/**
 * Gives a folder packages of npm, and copies a program that uses them there.
 *
 * @param dependencies their versions by name
 * @returns the path of the copy
 */
export async function installNpmProject(
  folder: string,
  dependencies: Readonly<Record<string, string>>,
  program: string,
): Promise<string> {
  await symlink(await npmPackages(dependencies), join(folder, 'node_modules'));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  const copy = join(folder, basename(program));
  await cp(program, copy);
  return copy;
}
