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
/** The script with which a server gives another one all of its data, and the programs that it calls. */
const TRANSFER = 'wsrep_sst_rsync';
const TRANSFER_NEEDS = ['rsync', 'lsof'];

/** What a Galera cluster needs beside the server itself. */
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
 * @throws Error when they cannot be had
 */
export async function galeraPrograms(folder: string): Promise<GaleraPrograms> {
  const path = process.env['PATH'] ?? '';
  const missing: string[] = [];
  if ((await first(PROVIDERS)) === undefined) missing.push('galera-4');
  for (const name of [...TRANSFER_NEEDS, 'haproxy'])
    if (!(await isOn(`${path}:/usr/sbin`, name))) missing.push(name);
  if (!(await hasServer())) missing.push('mariadb-server-core', 'mariadb-client-core');
  if (missing.length > 0) await installPackages(missing, WHY);
  const provider = await first(PROVIDERS);
  if (provider === undefined) throw new Error(`The package galera-4 has none of ${PROVIDERS.join(', ')}.`);
  if (await isOn(path, TRANSFER)) return { provider, path };
  const unpacked = join(folder, 'mariadb-server');
  await unpackPackage('mariadb-server', unpacked, WHY);
  return { provider, path: [join(unpacked, 'usr/bin'), path].join(delimiter) };
}

async function hasServer(): Promise<boolean> {
  return prepareLocalServer(0).then(
    async ({ afterwards }) => {
      for (const [program, ...args] of afterwards) await run(program, args);
      return true;
    },
    () => false,
  );
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
