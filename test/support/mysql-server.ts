import { startDockerServer } from './mysql-docker.js';
import type { RunningMysqlServer } from './mysql-launch.js';
import { startServer } from './mysql-local.js';
import { findProgram, firstOf, unpackedProgram } from './programs.js';

type Way = () => Promise<RunningMysqlServer>;

const WAYS: readonly Way[] = [
  async () => startServer(await findProgram('mariadbd')),
  async () => startServer(await unpackedProgram('mariadbd')),
  startDockerServer,
];

/** How to get a server if this machine has none, as a clause. */
export const SERVER_ADVICE =
  'install MariaDB or MySQL (the server need not run), start Docker, or set ' +
  'TEST_MYSQL_URL=mysql://user:password@host:port for a user that may create and drop databases rr_test_…';

/**
 * Starts a private MySQL-protocol server in the first way that works: from this machine's `mariadbd` or `mysqld`, from
 * the distribution's packages, which are unpacked and not installed, or in Docker.
 *
 * @throws Error with why each way failed, in one line
 */
export async function startMysqlServer(ways = WAYS): Promise<RunningMysqlServer> {
  return firstOf(ways);
}
