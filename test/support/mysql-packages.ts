import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { promisify } from 'node:util';
import { startLocalServer } from './mysql-local.js';
import type { RunningMysqlServer } from './mysql-launch.js';

const run = promisify(execFile);

// The programs alone: these packages, unlike mariadb-server, bring no service that would be started.
const PACKAGES = ['mariadb-server-core', 'mariadb-client-core'];

/**
 * Runs one of apt's programs, one at a time among the runs of these tests, since `apt-get update` does not wait for
 * its own lock, and out of reach of Ctrl-C, which would leave packages half installed.
 */
async function apt(program: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const { stdout } = await run('setsid', ['--wait', 'flock', '/etc/apt', program, ...args], {
    env,
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
}

/** The package's name in this release: some carry the version in it, such as `mariadb-server-core-10.6`. */
async function nameInThisRelease(name: string): Promise<string> {
  const names = await apt('apt-cache', 'pkgnames', name);
  return names.split('\n').filter(Boolean).sort()[0] ?? name;
}

/**
 * Installs MariaDB's programs from the packages of Debian or Ubuntu and starts a private server from them.
 * Rejects when this is another system or an ordinary user, or when the packages cannot be had.
 */
export async function startPackagedServer(): Promise<RunningMysqlServer> {
  if (process.getuid?.() !== 0) throw new Error('needs root');
  await access('/etc/debian_version');
  process.stderr.write(
    `Installing ${PACKAGES.join(' and ')} with apt-get: the tests need a MySQL-protocol server, TEST_MYSQL_URL is ` +
      'not set, and neither a server nor Docker can be used here.\n',
  );
  await apt('apt-get', 'update', '-qq');
  const names = await Promise.all(PACKAGES.map(nameInThisRelease));
  await apt(
    'apt-get',
    'install',
    '-y',
    '-qq',
    '--no-install-recommends',
    '-o',
    'DPkg::Lock::Timeout=600',
    ...names,
  );
  return startLocalServer();
}
