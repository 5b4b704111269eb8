import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { access, constants, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { launchMysqlServer, type Launch, type RunningMysqlServer } from './mysql-launch.js';
import type { Command } from './mysql-watchdog.js';

const run = promisify(execFile);

// Servers are often installed in folders that are not on the PATH of an ordinary user.
const SERVER_FOLDERS = [
  '/usr/sbin',
  '/usr/libexec',
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/local/mysql/bin',
  '/opt/homebrew/bin',
];
const FOLDERS = [...(process.env['PATH'] ?? '').split(delimiter), ...SERVER_FOLDERS];

// A server refuses to run as root unless told to, and another account could not enter the temporary folder.
const AS_ROOT = process.getuid?.() === 0 ? ['--user=root'] : [];

/** The first executable with one of these names; each folder is searched for every name before the next folder. */
async function find(folders: readonly string[], names: readonly string[]): Promise<string | undefined> {
  for (const folder of folders) {
    for (const name of names) {
      const file = join(folder, name);
      const executable = await access(file, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (executable) return file;
    }
  }
  return undefined;
}

/** The command that initializes an empty data folder, to which the folder's options are added. */
async function initialization(server: string): Promise<Command> {
  const { stdout } = await run(server, ['--no-defaults', '--version']);
  if (!/mariadb/i.test(stdout)) return [server, '--no-defaults', '--initialize-insecure', ...AS_ROOT];
  const folder = dirname(server);
  const program = await find(
    [folder, join(folder, '../bin'), join(folder, '../scripts'), ...FOLDERS],
    ['mariadb-install-db', 'mysql_install_db'],
  );
  if (program === undefined) throw new Error(`${server} is there, but mariadb-install-db is not`);
  // --force: this machine's name need not resolve. No --user: it would change the owner of the installed PAM plugin.
  return [program, '--no-defaults', '--force', '--skip-test-db'];
}

async function prepare(server: string, port: number): Promise<Launch> {
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
    // A server that starts deletes what others have in the folder for temporary tables.
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

/**
 * How to start a private server from the `mariadbd` or `mysqld` of this machine, with its data in a temporary folder:
 * the first command fills the folder, the second is the server. Rejects when there is none.
 */
export async function prepareLocalServer(port: number): Promise<Launch> {
  const server = await find(FOLDERS, ['mariadbd', 'mysqld']);
  if (server === undefined) {
    throw new Error(`no mariadbd or mysqld in PATH, ${SERVER_FOLDERS.join(', ')}`);
  }
  return prepare(server, port);
}

/** Starts that server. Rejects when there is none or it does not start. */
export async function startLocalServer(): Promise<RunningMysqlServer> {
  return launchMysqlServer(prepareLocalServer);
}
