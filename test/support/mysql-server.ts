import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from './free-port.js';
import { identifyMysqlServer } from './mysql-databases.js';
import { type Command, watch, type Watch } from './mysql-watchdog.js';
import { findExecutable, findProgram, firstOf, unpackedProgram } from './programs.js';

const run = promisify(execFile);

const ATTEMPTS = 3;
const PATIENCE_MS = 120_000;
const POLL_MS = 50;

/** How to get a server if this machine has none, as a clause. */
export const SERVER_ADVICE =
  'install MariaDB or MySQL (the server need not run), or set ' +
  'TEST_MYSQL_URL=mysql://user:password@host:port for a user that may create and drop databases rr_test_…';

/** A server that this run started. */
interface RunningMysqlServer {
  /** `mysql://user:password@127.0.0.1:port`, for a user with all privileges. */
  readonly url: string;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

/** How to start one server. */
export interface Launch extends Watch {
  /** The URL of the server: `mysql://user:password@127.0.0.1:port`. */
  readonly url: string;
}

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

async function answering(url: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await identifyMysqlServer(url);
      return;
    } catch {
      await delay(POLL_MS, undefined, { signal });
    }
  }
}

/**
 * Starts a server on a free loopback port and waits until it responds. Another process may take the port in between, so
 * the start is tried three times. That process may even be a server, so the password in the URL must be unique to the
 * run.
 *
 * @throws Error with the last output of the server
 */
async function startServer(server: string): Promise<RunningMysqlServer> {
  let lastWords = '';
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const { url, ...work } = await prepareServer(server, await freePort());
    const watchdog = watch(work);
    const waiting = new AbortController();
    const timeout = AbortSignal.timeout(PATIENCE_MS);
    try {
      const up = answering(url, AbortSignal.any([waiting.signal, timeout])).then(() => true as const);
      const outcome = await Promise.race([up, watchdog.ended]);
      if (outcome === true) return { url, stop: () => watchdog.stop() };
      lastWords = outcome;
    } catch (error) {
      await watchdog.stop();
      throw new Error(`no answer within ${PATIENCE_MS / 1000} s: ${await watchdog.ended}`, { cause: error });
    } finally {
      waiting.abort();
    }
  }
  throw new Error(lastWords.trim());
}

/**
 * Starts a private MySQL-protocol server in the first way that works: from this machine's `mariadbd` or `mysqld`, or from
 * the distribution's packages, which are unpacked and not installed.
 *
 * @throws Error with why each way failed, in one line
 */
export async function startMysqlServer(): Promise<RunningMysqlServer> {
  return firstOf([
    async () => startServer(await findProgram('mariadbd')),
    async () => startServer(await unpackedProgram('mariadbd')),
  ]);
}
