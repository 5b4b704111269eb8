import { execFile } from 'node:child_process';
import { cp, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const INSTALL_MS = 240_000;

/**
 * Installs packages of npm into a folder, and copies a program that uses them there.
 *
 * @param dependencies their versions by name
 * @returns the path of the copy
 */
export async function installNpmProject(
  folder: string,
  dependencies: Readonly<Record<string, string>>,
  program: string,
): Promise<string> {
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ private: true, type: 'module', dependencies }),
  );
  await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'], {
    cwd: folder,
    timeout: INSTALL_MS,
  });
  const copy = join(folder, basename(program));
  await cp(program, copy);
  return copy;
}
