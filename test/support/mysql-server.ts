import { startDockerServer } from './mysql-docker.js';
import type { RunningMysqlServer } from './mysql-launch.js';
import { startLocalServer } from './mysql-local.js';
import { startPackagedServer } from './mysql-packages.js';

type Way = readonly [name: string, start: () => Promise<RunningMysqlServer>];

const WAYS: readonly Way[] = [
  ['a server installed on this machine', startLocalServer],
  ['Docker', startDockerServer],
  ["the distribution's packages", startPackagedServer],
];

const ADVICE = `Do one of these:
- set TEST_MYSQL_URL=mysql://user:password@host:port, with a user that may create and drop databases rr_test_…
- install MariaDB or MySQL (the server need not run)
- start Docker
- run the tests as root on Debian or Ubuntu, where they install MariaDB's programs themselves`;

/**
 * Starts a private MySQL-protocol server in the first way that works here. Rejects, when none does, with the
 * error of each way and what to do.
 */
export async function startMysqlServer(ways = WAYS): Promise<RunningMysqlServer> {
  const refusals: string[] = [];
  for (const [way, start] of ways) {
    try {
      return await start();
    } catch (error) {
      refusals.push(`- ${way}: ${error instanceof Error ? error.message.trim() : String(error)}`);
    }
  }
  throw new Error(
    `The tests need a MySQL-protocol server, and none could be had.\n${refusals.join('\n')}\n${ADVICE}`,
  );
}
