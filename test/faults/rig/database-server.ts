import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import { listenerOf } from '../../../bench/process-usage.js';
import { freePort } from '../../support/free-port.js';
import { createMysqlDatabase, identifyMysqlServer } from '../../support/mysql-databases.js';
import { type Launch, prepareServer } from '../../support/mysql-server.js';
import { type Watchdog, watch } from '../../support/mysql-watchdog.js';
import { programPath } from '../../support/needs.js';
import { migrate } from './service-process.js';

const run = promisify(execFile);
const START_MS = 60_000;
const POLL_MS = 50;
/** An account without special rights, like a service's: a read-only server refuses its writes. */
const ACCOUNT = 'service';
/** The smallest `max_connections` that MySQL and MariaDB accept. */
const FEW = 10;
/** The default of `max_connections`. */
const MANY = 151;

/** A database server of one test file, which its tests may kill, freeze and break. */
export class DatabaseServer {
  readonly #launch: Launch;
  readonly #folder: Watchdog;
  #running: Watchdog | undefined;
  #hasAccounts = false;

  constructor(launch: Launch) {
    this.#launch = launch;
    // Removes the folder even if this process dies. The server must have ended by then.
    this.#folder = watch({ commands: [], afterwards: [['sleep', '0.5'], ...launch.afterwards] });
  }

  get port(): number {
    return Number(new URL(this.#launch.url).port);
  }

  /** Initializes the data folder of the server; called once. */
  async initialize(): Promise<void> {
    const [program, ...args] = this.#launch.commands[0] ?? [''];
    await run(program, args);
  }

  /** Starts the server and waits until it responds. @param options additional command-line options for this start */
  async start(options: readonly string[] = []): Promise<void> {
    const [program = '', ...args] = this.#launch.commands[1] ?? [];
    // A second start would fail to create the accounts again.
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

  /** Creates and migrates a database; returns its URL for an account without special rights. */
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

  /** Kills the server, which looks like a power cut to its clients. */
  async kill(): Promise<void> {
    process.kill(this.#pid(), 'SIGKILL');
    await this.#running?.ended;
    this.#running = undefined;
  }

  /** Suspends the server; its connections stay open. */
  freeze(): void {
    process.kill(this.#pid(), 'SIGSTOP');
  }

  thaw(): void {
    process.kill(this.#pid(), 'SIGCONT');
  }

  /** Makes inserts fail as on a full disk (ER_RECORD_FILE_FULL). A real server may crash as well. */
  async fillDisk(databaseUrl: string): Promise<void> {
    const full = "signal sqlstate 'HY000' set mysql_errno = 1114, message_text = 'The table is full'";
    await this.query(
      `create trigger ${nameOf(databaseUrl)}.full_disk before insert on routes for each row ${full}`,
    );
  }

  async freeDisk(databaseUrl: string): Promise<void> {
    await this.query(`drop trigger ${nameOf(databaseUrl)}.full_disk`);
  }

  /** Takes all connections of the server, including those of others; resolves with a function that releases them. */
  async takeConnections(databaseUrl: string): Promise<() => Promise<void>> {
    // One connection for all queries: a full server reserves only one for its administrator.
    const admin = await createConnection({ uri: this.#launch.url });
    await admin.query(`set global max_connections = ${FEW}`);
    const taken: Connection[] = [];
    // One of the connections is the administrator's. The place of a killed one is free when its thread has ended.
    while (taken.length < FEW - 1) {
      const mine = [...taken.map(({ threadId }) => threadId), 'connection_id()'].join(', ');
      const [others] = await admin.query<RowDataPacket[]>(
        `select id as id from information_schema.processlist where user = '${ACCOUNT}' and id not in (${mine})`,
      );
      // A connection may end before it is killed.
      for (const { id } of others) await admin.query(`kill ${String(id)}`).catch(() => undefined);
      await sleep(POLL_MS);
      taken.push(...(await connectionsTo(databaseUrl)));
    }
    return async () => {
      await Promise.all(taken.map((connection) => connection.end()));
      // The service may take all released connections, and tests need some for queries.
      await admin.query(`set global max_connections = ${MANY}`);
      await admin.end();
    };
  }

  /** Undoes the fault of a test. */
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

/** Opens the connections that the server still accepts. */
async function connectionsTo(databaseUrl: string): Promise<Connection[]> {
  const attempts = Array.from({ length: FEW }, () => createConnection({ uri: databaseUrl }));
  const results = await Promise.allSettled(attempts);
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
}

function nameOf(databaseUrl: string): string {
  return new URL(databaseUrl).pathname.slice(1);
}

/** Runs one query over a new connection. */
export async function query(url: string, sql: string): Promise<RowDataPacket[]> {
  const connection = await createConnection({ uri: url });
  try {
    const [rows] = await connection.query<RowDataPacket[]>(sql);
    return rows;
  } finally {
    await connection.end();
  }
}
