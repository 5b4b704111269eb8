import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { installPackages, unpackPackage } from '../../support/apt.js';
import { prepareLocalServer } from '../../support/mysql-local.js';

const run = promisify(execFile);
const WHY = 'the tests of clusters need them';
/** The library that makes a cluster of MariaDB servers. */
const PROVIDERS = ['/usr/lib/galera/libgalera_smm.so', '/usr/lib64/galera-4/libgalera_smm.so'];
/** The script with which a server gives another one all of its data. */
const TRANSFER = 'wsrep_sst_rsync';
/** The programs that are called like their packages: those that the script calls, and the balancer. */
const PROGRAMS = ['rsync', 'lsof', 'haproxy'];
const SERVER = ['mariadb-server-core', 'mariadb-client-core'];

/** The programs and files that a Galera cluster needs beside the server itself. */
export interface GaleraPrograms {
  readonly provider: string;
  /** The folders of the programs, as in PATH. */
  readonly path: string;
}

/**
 * Finds the programs of MariaDB's Galera clusters and of HAProxy, and installs what is missing from the packages of
 * Debian or Ubuntu.
 *
 * @param folder where the transfer script is unpacked: the package that holds it would start a server of its own
 * @throws Error that names what is missing and cannot be had
 */
export async function galeraPrograms(folder: string): Promise<GaleraPrograms> {
  const path = process.env['PATH'] ?? '';
  const missing = await missingPackages(path);
  if (missing.length > 0) await had(missing, installPackages(missing, WHY));
  const still = await missingPackages(path);
  const provider = await first(PROVIDERS);
  if (provider === undefined || still.length > 0) throw new Error(`${still.join(', ')} cannot be used here`);
  if (await isOn(path, TRANSFER)) return { provider, path };
  const unpacked = join(folder, 'mariadb-server');
  await had([`${TRANSFER} of mariadb-server`], unpackPackage('mariadb-server', unpacked, WHY));
  return { provider, path: [join(unpacked, 'usr/bin'), path].join(delimiter) };
}

/** The packages whose programs are not there. */
async function missingPackages(path: string): Promise<string[]> {
  const missing = (await hasMariadb()) ? [] : [...SERVER];
  if ((await first(PROVIDERS)) === undefined) missing.push('galera-4');
  for (const name of PROGRAMS) if (!(await isOn(`${path}:/usr/sbin`, name))) missing.push(name);
  return missing;
}

async function had(names: readonly string[], attempt: Promise<void>): Promise<void> {
  await attempt.catch((cause: unknown) => {
    throw new Error(`${names.join(', ')} not found, nor to be had from apt: ${(cause as Error).message}`);
  });
}

/** MySQL's own server has no Galera. */
async function hasMariadb(): Promise<boolean> {
  try {
    const { commands, afterwards } = await prepareLocalServer(0);
    for (const [program, ...args] of afterwards) await run(program, args);
    const { stdout } = await run(commands[1]?.[0] ?? '', ['--no-defaults', '--version']);
    return /mariadb/i.test(stdout);
  } catch {
    return false;
  }
}

async function first(files: readonly string[]): Promise<string | undefined> {
  for (const file of files) if (await isThere(file, constants.R_OK)) return file;
  return undefined;
}

async function isOn(path: string, program: string): Promise<boolean> {
  for (const folder of path.split(delimiter)) {
    if (await isThere(join(folder, program), constants.X_OK)) return true;
  }
  return false;
}

function isThere(file: string, mode: number): Promise<boolean> {
  return access(file, mode).then(
    () => true,
    () => false,
  );
}
