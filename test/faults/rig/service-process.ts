import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, onTestFinished } from 'vitest';
import { createMysqlDatabase, dropMysqlDatabase } from '../../support/mysql-databases.js';
import { supplies } from '../../support/needs.js';
import { Program } from '../../support/process.js';
import { SERVICE_SETTINGS } from '../../support/service.js';
import { first } from '../../support/tls-set.js';

/** The service as a separate process. */
export interface ServiceProcess {
  readonly program: Program;
  readonly pid: number;
  /** `host:port` of its gRPC server. */
  readonly grpc: string;
  /** The base URLs of its REST gateway and of its pages for operators. */
  readonly http: string;
  readonly ops: string;
}

/** Starts the built service and waits until it listens. It is killed when the test ends. */
export async function startProcess(settings: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  const folder = await mkdtemp(join(inject('temporaryFolder'), 'service-'));
  const program = new Program('main', [], folder, { ...SERVICE_SETTINGS, ...settings });
  onTestFinished(async () => {
    await program.stop('SIGKILL');
  });
  const line = await program.line('listening');
  const { grpc = '', http = '', ops = '' } = line as Partial<Record<'grpc' | 'http' | 'ops', string>>;
  return { program, pid: program.pid, grpc, http, ops };
}

/** The settings for TLS with the first certificate of the tests' authority. */
export async function tlsSettings(): Promise<Readonly<Record<string, string>>> {
  const folder = await mkdtemp(join(inject('temporaryFolder'), 'tls-'));
  const files = { TLS_CERT_FILE: join(folder, 'tls.crt'), TLS_KEY_FILE: join(folder, 'tls.key') };
  await writeFile(files.TLS_CERT_FILE, first.cert);
  await writeFile(files.TLS_KEY_FILE, first.key);
  return files;
}

/** The settings with which a new process replaces one that has ended. */
export function addressesOf({ grpc, http }: ServiceProcess): Readonly<Record<string, string>> {
  return { GRPC_ADDRESS: grpc, HTTP_ADDRESS: new URL(http).host };
}

/** Creates and migrates a database on the first server of the run. It is dropped when the test ends. */
export async function databaseOnMysql(): Promise<string> {
  const [server] = supplies.mysqlServers;
  if (server === undefined) throw new Error('There is no server: the test must say that it needs one.');
  const url = await createMysqlDatabase(server);
  onTestFinished(() => dropMysqlDatabase(url));
  await migrate(url);
  return url;
}

/** Starts the service on a new database of the first server of the run. */
export async function startOnMysql(settings: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
  return startProcess({ DATABASE_URL: await databaseOnMysql(), ...settings });
}

/** Migrates a database as its operator would. */
export async function migrate(databaseUrl: string): Promise<void> {
  const program = new Program('migrate', [], inject('temporaryFolder'), { DATABASE_URL: databaseUrl });
  const { exitCode, stderr } = await program.ended;
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
}
