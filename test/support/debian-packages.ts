import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { reasonOf } from './reason.js';

const run = promisify(execFile);

/** The cache folder; outside node_modules, which `npm ci` deletes. */
const CACHE = resolve(import.meta.dirname, '../../.cache/debian');
const DOWNLOAD_MS = 300_000;
const OUTPUT_MAX_BYTES = 67_108_864;

/** The packages that this process unpacks or has unpacked, by name. */
const unpacking = new Map<string, Promise<string>>();

/**
 * Unpacks Debian or Ubuntu packages, with those dependencies that are not installed, into a cache folder of this
 * project. Needs no root and changes nothing in the system: apt keeps its lists in a separate folder. Later calls reuse
 * the folder. Two runs that unpack at the same time both make the folder, and one of them wins.
 *
 * @param systemPrograms programs in /usr/bin for which the packages provide libraries
 * @returns a folder of scripts that start these programs and those of the packages with the right libraries
 * @throws Error if apt is missing or the packages are not available
 */
export function unpackPackages(
  packages: readonly string[],
  systemPrograms: readonly string[] = [],
): Promise<string> {
  return unpackOnce(packages, packages.join('+'), systemPrograms);
}

/**
 * Unpacks Debian or Ubuntu packages as above, but without their dependencies, for files that need none.
 *
 * @returns the folder that stands for `/`
 * @throws Error if apt is missing or the packages are not available
 */
export async function unpackFiles(packages: readonly string[]): Promise<string> {
  return dirname(await unpackOnce(packages, `${packages.join('+')}-alone`, [], true));
}

function unpackOnce(
  packages: readonly string[],
  name: string,
  systemPrograms: readonly string[],
  alone = false,
): Promise<string> {
  const started = unpacking.get(name) ?? unpack(packages, name, systemPrograms, alone);
  unpacking.set(name, started);
  return started;
}

async function unpack(
  packages: readonly string[],
  name: string,
  systemPrograms: readonly string[],
  alone: boolean,
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
    for (const file of await downloadPackages(packages, draft, alone))
      await run('dpkg-deb', ['--extract', file, content]);
    await writeStarters(content, systemPrograms);
    // Another run may have been faster; its content is the same.
    await rename(content, folder).catch(async (error: unknown) => {
      if (!(await exists(bin))) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return bin;
}

/** Installs Debian or Ubuntu packages, with a note on stderr. @throws Error unless the user is root */
export async function installPackages(packages: readonly string[]): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('apt-get install needs root');
  process.stderr.write(`Installing ${packages.join(' and ')} with apt-get, as INSTALL=1 says.\n`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  // One at a time: `apt-get update` does not wait for its own lock. In a new session: Ctrl-C would leave packages half
  // installed.
  const apt = (...args: string[]) =>
    run('setsid', ['--wait', 'flock', '/etc/apt', 'apt-get', ...args], { env });
  await apt('update', '-qq');
  await apt('install', '-y', '-qq', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=600', ...packages);
}

/** Downloads packages, with their dependencies unless `alone`. Returns the paths of the files. */
async function downloadPackages(
  packages: readonly string[],
  draft: string,
  alone: boolean,
): Promise<string[]> {
  await mkdir(join(draft, 'state/lists/partial'), { recursive: true });
  const archives = join(draft, 'cache/archives');
  await mkdir(join(archives, 'partial'), { recursive: true });
  const options = {
    'Dir::State': join(draft, 'state'),
    'Dir::State::status': '/var/lib/dpkg/status',
    'Dir::Cache': join(draft, 'cache'),
    'Debug::NoLocking': 'true',
    // As root, apt downloads with an account of its own, which could not write to this folder.
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
    'Acquire::http::Timeout': '20',
  };
  const common = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  const apt = async (program: string, ...args: string[]): Promise<string> => {
    const limits = { cwd: archives, timeout: DOWNLOAD_MS, maxBuffer: OUTPUT_MAX_BYTES };
    return (await run(program, [...common, ...args], limits)).stdout;
  };
  // If a list cannot be downloaded, the others may still suffice.
  const told = await apt('apt-get', 'update', '-qq').then(
    () => '',
    (error: unknown) => `${reasonOf(error)}; `,
  );
  const known = new Set((await apt('apt-cache', 'pkgnames')).split('\n'));
  // Some package names contain a version, such as `mariadb-server-core-10.6`.
  const names = packages.map((name) =>
    known.has(name)
      ? name
      : ([...known].filter((candidate) => candidate.startsWith(`${name}-`)).sort()[0] ?? name),
  );
  const wanted = alone
    ? ['download', '-qq']
    : ['install', '-y', '-qq', '--download-only', '--reinstall', '--no-install-recommends'];
  await apt('apt-get', ...wanted, ...names).catch((error: unknown) => {
    throw new Error(told + reasonOf(error));
  });
  return (await readdir(archives))
    .filter((file) => file.endsWith('.deb'))
    .map((file) => join(archives, file));
}

/** Writes a script for each program into `run`, which starts the program with the unpacked libraries. */
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

/** The code name of the system's release, such as `bookworm`. Libraries do not fit other releases. */
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
