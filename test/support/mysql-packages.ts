import { installPackages } from './apt.js';
import { startLocalServer } from './mysql-local.js';
import type { RunningMysqlServer } from './mysql-launch.js';

// The programs alone: these packages, unlike mariadb-server, bring no service that would be started.
const PACKAGES = ['mariadb-server-core', 'mariadb-client-core'];

/**
 * Installs MariaDB's programs from the packages of Debian or Ubuntu and starts a private server from them.
 * Rejects when this is another system or an ordinary user, or when the packages cannot be had.
 */
export async function startPackagedServer(): Promise<RunningMysqlServer> {
  await installPackages(
    PACKAGES,
    'the tests need a MySQL-protocol server, TEST_MYSQL_URL is not set, and neither a server nor Docker can be used here',
  );
  return startLocalServer();
}
