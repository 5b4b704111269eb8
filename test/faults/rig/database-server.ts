import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import { listenerOf } from '../../../bench/process-usage.js';
import { freePort } from '../../support/free-port.js';
import { createMysqlDatabase, identifyMysqlServer } from '../../support/mysql-databases.js';
import { prepareServer } from '../../support/mysql-local.js';
import type { Launch } from '../../support/mysql-launch.js';
import { type Watchdog, watch } from '../../support/mysql-watchdog.js';
import { programPath } from '../../support/needs.js';
import { migrate } from './service-process.js';

const run = promisify(execFile);
const START_MS = 60_000;
const POLL_MS = 50;
/** An account that a read-only server refuses writes, as it would a service's. */
const ACCOUNT = 'service';
/** The fewest connections that MySQL and MariaDB can be told to take. */
const FEW = 10;
/** What they take by default. */
const MANY = 151;

/** A MySQL-protocol server of one test file, which may be killed, frozen and spoiled. */
export class DatabaseServer {
  readonly #launch: Launch;
  readonly #folder: Watchdog;
  #running: Watchdog | undefined;
  #hasAccounts = false;

  constructor(launch: Launch) {
    this.#launch = launch;
    // Removes the folder also when this process is gone; by then the server must be, too.
    this.#folder = watch({ commands: [], afterwards: [['sleep', '0.5'], ...launch.afterwards] });
  }

  get port(): number {
    return Number(new URL(this.#launch.url).port);
  }

  /** Fills the folder of the server, once. */
  async initialize(): Promise<void> {
    const [program, ...args] = this.#launch.commands[0] ?? [''];
    await run(program, args);
  }

  /** Starts the server on its port and its data, and waits until it answers. @param options further ones, for this start */
  async start(options: readonly string[] = []): Promise<void> {
    const [program = '', ...args] = this.#launch.commands[1] ?? [];
    // A second start would make the accounts again, and fail.
    const rest = args.filter((arg) => !this.#hasAccounts || !arg.startsWith('--init-file='));
    const running = watch({ commands: [[program, ...rest, ...options]], afterwards: [] });
    this.#running = running;
    const deadline = Date.now() + START_MS;
    while (!(await this.answers())) {
      const lastWords = await Promise.race([running.ended, sleep(POLL_MS)]);
      if (lastWords !== undefined) throw new Error(`The database did not start: ${lastWords}`);
      if (Date.now() > deadline) throw new Error(`The database did not start within ${START_MS} ms.`);
    }
    this.#hasAccounts = true;
  }

  async answers(): Promise<boolean> {
    return identifyMysqlServer(this.#launch.url).then(
      () => true,
      () => false,
    );
  }

  /** A migrated database, and its URL for an account without special rights. */
  async createDatabase(): Promise<string> {
    const url = new URL(await createMysqlDatabase({ name: '', url: this.#launch.url }));
    const name = nameOf(url.href);
    await this.query(`create user if not exists '${ACCOUNT}'@'127.0.0.1' identified by '${url.password}'`);
    await this.query(`grant all on ${name}.* to '${ACCOUNT}'@'127.0.0.1'`);
    url.username = ACCOUNT;
    await migrate(url.href);
    return url.href;
  }

  async query(sql: string): Promise<RowDataPacket[]> {
    return query(this.#launch.url, sql);
  }

  /** Ends the server as a power cut does, as seen by its clients. */
  async kill(): Promise<void> {
    process.kill(this.#pid(), 'SIGKILL');
    await this.#running?.ended;
    this.#running = undefined;
  }

  /** Stops it from doing anything; its connections stay open. */
  freeze(): void {
    process.kill(this.#pid(), 'SIGSTOP');
  }

  thaw(): void {
    process.kill(this.#pid(), 'SIGCONT');
  }

  /** Answers inserts as a server does whose disk is full (ER_RECORD_FILE_FULL). A real one may crash as well. */
  async fillDisk(databaseUrl: string): Promise<void> {
    const full = "signal sqlstate 'HY000' set mysql_errno = 1114, message_text = 'The table is full'";
    await this.query(
      `create trigger ${nameOf(databaseUrl)}.full_disk before insert on routes for each row ${full}`,
    );
  }

  async freeDisk(databaseUrl: string): Promise<void> {
    await this.query(`drop trigger ${nameOf(databaseUrl)}.full_disk`);
  }

  /** Takes every connection that the server has, also those of others; resolves with how to give them back. */
  async takeConnections(databaseUrl: string): Promise<() => Promise<void>> {
    // One connection for all questions: a server that is full keeps a single one for its administrator.
    const admin = await createConnection({ uri: this.#launch.url });
    await admin.query(`set global max_connections = ${FEW}`);
    const taken = await connectionsTo(databaseUrl);
    const mine = [...taken.map(({ threadId }) => threadId), 'connection_id()'].join(', ');
    const [others] = await admin.query<RowDataPacket[]>(
      `select id as id from information_schema.processlist where user = '${ACCOUNT}' and id not in (${mine})`,
    );
    for (const { id } of others) await admin.query(`kill ${String(id)}`);
    taken.push(...(await connectionsTo(databaseUrl)));
    return async () => {
      await Promise.all(taken.map((connection) => connection.end()));
      // The service may take as many as were given back, and tests ask questions, too.
      await admin.query(`set global max_connections = ${MANY}`);
      await admin.end();
    };
  }

  /** Undoes whatever a test has left. */
  async heal(): Promise<void> {
    if (listenerOf(this.port) === undefined) return this.start();
    this.thaw();
    await this.query('set global read_only = 0');
  }

  async close(): Promise<void> {
    await this.#running?.stop();
    await this.#folder.stop();
  }

  #pid(): number {
    const pid = listenerOf(this.port);
    if (pid === undefined) throw new Error(`No database listens on port ${this.port}.`);
    return pid;
  }
}

/** Starts a server for one test file; the file must close it. */
export async function startDatabaseServer(): Promise<DatabaseServer> {
  const launch = await prepareServer(programPath('mariadbd'), await freePort());
  const server = new DatabaseServer(launch);
  try {
    await server.initialize();
    await server.start();
    return server;
  } catch (error) {
    await server.close();
    throw error;
  }
}

/** As many connections as the server still has. */
async function connectionsTo(databaseUrl: string): Promise<Connection[]> {
  const attempts = Array.from({ length: FEW }, () => createConnection({ uri: databaseUrl }));
  const results = await Promise.allSettled(attempts);
  return results.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
}

function nameOf(databaseUrl: string): string {
  return new URL(databaseUrl).pathname.slice(1);
}

/** Asks one question over a connection of its own. */
export async function query(url: string, sql: string): Promise<RowDataPacket[]> {
  const connection = await createConnection({ uri: url });
  try {
    const [rows] = await connection.query<RowDataPacket[]>(sql);
    return rows;
  } finally {
    await connection.end();
  }
}
