import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { unpackPackages } from './debian-packages.js';
import { findExecutable } from './programs.js';

/** The library that connects MariaDB servers to a cluster. */
const PROVIDERS = ['/usr/lib/galera/libgalera_smm.so', '/usr/lib64/galera-4/libgalera_smm.so'];
/** The script that transfers a full copy of the data to another node, and the programs that it calls. */
const TRANSFER = ['wsrep_sst_rsync', 'rsync', 'lsof'];

/** The programs and files that a Galera cluster needs. */
export interface GaleraPrograms {
  /** MariaDB's server: MySQL's has no Galera. */
  readonly server: string;
  readonly provider: string;
  /** The folders of the programs that the server calls, as in PATH. */
  readonly path: string;
}

/** How to get what is missing, as a clause. */
export const GALERA_ADVICE = 'install MariaDB with Galera 4, rsync and lsof';

/**
 * The programs of this machine or, if any is missing, those of Debian's packages. The packages are unpacked and not
 * installed: their installation would start a server.
 *
 * @throws Error if the packages cannot be unpacked
 */
export async function galeraPrograms(): Promise<GaleraPrograms> {
  const path = process.env['PATH'] ?? '';
  const server = await findExecutable(['mariadbd']);
  const called = await Promise.all(TRANSFER.map((name) => findExecutable([name], path.split(delimiter))));
  const [provider] = (await Promise.all(PROVIDERS.map(present))).filter((path) => path !== undefined);
  if (server !== undefined && provider !== undefined && !called.includes(undefined)) {
    return { server, provider, path };
  }
  // The core is named, since dependencies that are installed are left out.
  const folder = await unpackPackages([
    'mariadb-server',
    'mariadb-server-core',
    'mariadb-client-core',
    'galera-4',
    'rsync',
    'lsof',
  ]);
  return {
    server: join(folder, 'mariadbd'),
    provider: join(folder, '../usr/lib/galera/libgalera_smm.so'),
    path: [folder, path].join(delimiter),
  };
}

function present(file: string): Promise<string | undefined> {
  return access(file).then(
    () => file,
    () => undefined,
  );
}
