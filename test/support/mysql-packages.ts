import { installPackages } from './apt.js';
import { startLocalServer } from './mysql-local.js';
import type { RunningMysqlServer } from './mysql-launch.js';

// Only the programs: unlike mariadb-server, these packages start no service.
const PACKAGES = ['mariadb-server-core', 'mariadb-client-core'];

/**
 * Installs MariaDB's programs from the packages of Debian or Ubuntu.
 * Rejects on another system, for an ordinary user, or when the packages are not available.
 *
 * @param why a clause that says what needs them and what was tried before
 */
export function installServerPackages(why: string): Promise<void> {
  return installPackages(PACKAGES, why);
}

/** Installs MariaDB's programs and starts a private server from them. Rejects where they cannot be installed. */
export async function startPackagedServer(): Promise<RunningMysqlServer> {
  await installServerPackages(
    'the tests need a MySQL-protocol server, TEST_MYSQL_URL is not set, and neither a server nor Docker can be used here',
  );
  return startLocalServer();
}
