import { execFile } from 'node:child_process';
import { access, chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The cache folder; outside node_modules, which `npm ci` deletes. */
const CACHE = resolve(import.meta.dirname, '../../.cache/npm');
const INSTALL_MS = 300_000;

/**
 * Installs packages of npm, which run no scripts, into a cache folder of this project, for tests and tools that need
 * more than `npm ci` brings. Later calls reuse the folder. Two that install at the same time both make it, and one wins.
 *
 * @param versions the exact version of each package
 * @returns the path of their `node_modules`
 */
export async function npmPackages(versions: Readonly<Record<string, string>>): Promise<string> {
  const name = Object.entries(versions)
    .map(([dependency, version]) => `${dependency.replace('/', '-')}@${version}`)
    .join('+');
  const folder = join(CACHE, name);
  const modules = join(folder, 'node_modules');
  if (await exists(modules)) return modules;
  await mkdir(CACHE, { recursive: true });
  const draft = await mkdtemp(`${folder}-`);
  try {
    await writeFile(join(draft, 'package.json'), JSON.stringify({ private: true, dependencies: versions }));
    process.stderr.write(`Downloading ${name} into ${folder}\n`);
    const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
    await run('npm', args, { cwd: draft, timeout: INSTALL_MS });
    // The folder of a draft is its user's alone.
    await chmod(draft, 0o755);
    await rename(draft, folder).catch(async (error: unknown) => {
      if (!(await exists(modules))) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return modules;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
