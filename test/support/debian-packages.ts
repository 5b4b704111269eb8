import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { reasonOf } from './reason.js';

const run = promisify(execFile);

/** Beside node_modules, which `npm ci` empties. */
const CACHE = resolve(import.meta.dirname, '../../.cache/debian');
const DOWNLOAD_MS = 300_000;
const OUTPUT_MAX_BYTES = 67_108_864;

/** What this process has begun to unpack. */
const unpacking = new Map<string, Promise<string>>();

/**
 * Unpacks packages of Debian or Ubuntu, with what they depend on and is not installed, into a folder of this project:
 * without root, with apt's own lists in a folder of ours, so that nothing of the system changes. What is there is used
 * again; of two runs that begin at once each makes the folder, and one of both stays.
 *
 * @param systemPrograms programs in /usr/bin for which the packages are libraries
 * @returns the folder of these programs and of those in the packages, which find their libraries by themselves
 * @throws Error where apt is missing, or the packages are not available
 */
export function unpackPackages(
  packages: readonly string[],
  systemPrograms: readonly string[] = [],
): Promise<string> {
  const name = packages.join('+');
  const started = unpacking.get(name) ?? unpack(packages, name, systemPrograms);
  unpacking.set(name, started);
  return started;
}

async function unpack(
  packages: readonly string[],
  name: string,
  systemPrograms: readonly string[],
): Promise<string> {
  const folder = join(CACHE, `${await release()}-${process.arch}`, name);
  const bin = join(folder, 'run');
  if (await exists(bin)) return bin;
  await run('apt-get', ['--version']);
  await mkdir(dirname(folder), { recursive: true });
  const draft = await mkdtemp(`${folder}-`);
  try {
    process.stderr.write(`Downloading ${packages.join(' and ')} into ${folder}: nothing is installed.\n`);
    const content = join(draft, 'content');
    for (const file of await downloaded(packages, draft)) await run('dpkg-deb', ['--extract', file, content]);
    await writeStarters(content, systemPrograms);
    // Another run may have been faster: both made the same.
    await rename(content, folder).catch(async (error: unknown) => {
      if (!(await exists(bin))) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return bin;
}

/** Installs packages of Debian or Ubuntu, and says so on stderr. Rejects for an ordinary user. */
export async function installPackages(packages: readonly string[]): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('apt-get install needs root');
  process.stderr.write(`Installing ${packages.join(' and ')} with apt-get, as INSTALL=1 says.\n`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  // One at a time, since `apt-get update` does not wait for its own lock; and out of reach of Ctrl-C, which would leave
  // packages half installed.
  const apt = (...args: string[]) =>
    run('setsid', ['--wait', 'flock', '/etc/apt', 'apt-get', ...args], { env });
  await apt('update', '-qq');
  await apt('install', '-y', '-qq', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=600', ...packages);
}

/** Downloads packages with what they need, and names the files. */
async function downloaded(packages: readonly string[], draft: string): Promise<string[]> {
  await mkdir(join(draft, 'state/lists/partial'), { recursive: true });
  await mkdir(join(draft, 'cache/archives/partial'), { recursive: true });
  const options = {
    'Dir::State': join(draft, 'state'),
    'Dir::State::status': '/var/lib/dpkg/status',
    'Dir::Cache': join(draft, 'cache'),
    'Debug::NoLocking': 'true',
    // The account that apt downloads as, where root calls it, could not write there.
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
    'Acquire::http::Timeout': '20',
  };
  const common = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  const apt = async (program: string, ...args: string[]): Promise<string> => {
    const limits = { timeout: DOWNLOAD_MS, maxBuffer: OUTPUT_MAX_BYTES };
    return (await run(program, [...common, ...args], limits)).stdout;
  };
  // A list that cannot be had need not be the one that is needed.
  const told = await apt('apt-get', 'update', '-qq').then(
    () => '',
    (error: unknown) => `${reasonOf(error)}; `,
  );
  const known = new Set((await apt('apt-cache', 'pkgnames')).split('\n'));
  // Some names carry a version, such as `mariadb-server-core-10.6`.
  const names = packages.map((name) =>
    known.has(name) ? name : ([...known].filter((each) => each.startsWith(`${name}-`)).sort()[0] ?? name),
  );
  const wanted = ['install', '-y', '-qq', '--download-only', '--reinstall', '--no-install-recommends'];
  await apt('apt-get', ...wanted, ...names).catch((error: unknown) => {
    throw new Error(told + reasonOf(error));
  });
  const archives = join(draft, 'cache/archives');
  return (await readdir(archives))
    .filter((file) => file.endsWith('.deb'))
    .map((file) => join(archives, file));
}

/** Writes a script for each program, in `run`, which starts it with the libraries that are beside it. */
async function writeStarters(content: string, systemPrograms: readonly string[]): Promise<void> {
  const namesIn = (folder: string) => readdir(join(content, folder)).catch(() => []);
  const libraries: string[] = [];
  for (const parent of ['usr/lib', 'lib']) {
    const folders = (await namesIn(parent)).filter((name) => name.includes('-linux-'));
    libraries.push(...folders.map((name) => `$here/${parent}/${name}`));
  }
  const places = new Map(systemPrograms.map((name) => [name, `/usr/bin/${name}`]));
  for (const parent of ['usr/bin', 'usr/sbin']) {
    for (const name of await namesIn(parent)) places.set(name, `$here/${parent}/${name}`);
  }
  await mkdir(join(content, 'run'));
  for (const [name, place] of places) {
    const lines = [
      '#!/bin/sh',
      'here=$(dirname "$0")/..',
      `export LD_LIBRARY_PATH="${libraries.join(':')}\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"`,
      'export PYTHONPATH="$here/usr/lib/python3/dist-packages"',
      `exec "${place}" "$@"`,
    ];
    await writeFile(join(content, 'run', name), `${lines.join('\n')}\n`, { mode: 0o755 });
  }
}

/** The system's name for its release, such as `bookworm`: libraries of one do not fit another. */
async function release(): Promise<string> {
  const text = await readFile('/etc/os-release', 'utf8').catch(() => '');
  return /^VERSION_CODENAME=(.*)$/m.exec(text)?.[1] ?? 'unknown';
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
