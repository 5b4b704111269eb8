import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { launchMysqlServer, type Launch, type RunningMysqlServer } from './mysql-launch.js';
import type { Command } from './mysql-watchdog.js';
import { findExecutable } from './programs.js';

const run = promisify(execFile);

// A server refuses to run as root without this option, and another user could not access the temporary folder.
const AS_ROOT = process.getuid?.() === 0 ? ['--user=root'] : [];

/** The command that initializes an empty data folder, without the options that name the folder. */
async function initialization(server: string): Promise<Command> {
  const { stdout } = await run(server, ['--no-defaults', '--version']);
  if (!/mariadb/i.test(stdout)) return [server, '--no-defaults', '--initialize-insecure', ...AS_ROOT];
  const folder = dirname(server);
  const names = ['mariadb-install-db', 'mysql_install_db'];
  const beside = [folder, join(folder, '../bin'), join(folder, '../scripts')];
  const program = (await findExecutable(names, beside)) ?? (await findExecutable(names));
  if (program === undefined) throw new Error(`${server} is there, but mariadb-install-db is not`);
  // Programs of unpacked packages are not at the path that they were compiled for.
  const prefix = join(folder, '../usr');
  const isUnpacked = (await findExecutable(names, [join(prefix, 'bin')])) !== undefined;
  const place = isUnpacked ? [`--basedir=${prefix}`] : [];
  // --force: the host name may not resolve. No --user: it would change the owner of the installed PAM plugin.
  return [program, '--no-defaults', ...place, '--force', '--skip-test-db'];
}

/**
 * Prepares the start of a private server from a `mariadbd` or `mysqld`, with its data in a temporary folder. The first
 * command initializes the data, the second runs the server.
 */
export async function prepareServer(server: string, port: number): Promise<Launch> {
  const initialize = await initialization(server);
  const folder = await mkdtemp(join(tmpdir(), 'rr-mysql-'));
  const password = randomBytes(16).toString('hex');
  const accounts = join(folder, 'accounts.sql');
  await writeFile(
    accounts,
    [
      `create user 'test'@'127.0.0.1' identified by '${password}';`,
      "grant all on *.* to 'test'@'127.0.0.1' with grant option;",
      '',
    ].join('\n'),
  );
  const data = join(folder, 'data');
  const options = [
    `--datadir=${data}`,
    `--secure-file-priv=${folder}`,
    // At its start, a server deletes the temporary tables of others in a shared folder.
    `--tmpdir=${folder}`,
    '--innodb-buffer-pool-size=32M',
  ];
  return {
    url: `mysql://test:${password}@127.0.0.1:${port}`,
    commands: [
      [...initialize, ...options],
      [
        server,
        '--no-defaults',
        ...AS_ROOT,
        ...options,
        '--bind-address=127.0.0.1',
        `--port=${port}`,
        // Relative to the data folder: the path of a Unix socket is limited to 107 bytes.
        '--socket=socket',
        `--pid-file=${join(folder, 'pid')}`,
        `--init-file=${accounts}`,
        '--skip-name-resolve',
        '--skip-log-bin',
        '--performance-schema=OFF',
        '--loose-mysqlx=OFF',
      ],
    ],
    afterwards: [['rm', '-rf', folder]],
  };
}

/** Starts a private server from a `mariadbd` or `mysqld`. @throws Error if it does not start */
export async function startServer(server: string): Promise<RunningMysqlServer> {
  return launchMysqlServer((port) => prepareServer(server, port));
}
