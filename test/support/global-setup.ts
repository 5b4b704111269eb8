import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { dropLeftovers, identifyMysqlServer, type MysqlServer } from './mysql-databases.js';
import { startMysqlServer } from './mysql-server.js';
import { watch } from './mysql-watchdog.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** The MySQL-protocol servers of this run, at least one. */
    mysqlServers: readonly MysqlServer[];
    /** A folder that is removed with its content when the run ends, however it ends. */
    temporaryFolder: string;
  }
}

interface Servers {
  readonly urls: readonly string[];
  readonly stop: () => Promise<void>;
}

/** The servers in `TEST_MYSQL_URL`, separated by commas; without it, one that the run starts and stops. */
async function servers(): Promise<Servers> {
  const given = process.env['TEST_MYSQL_URL'];
  if (given) return { urls: given.split(',').map((url) => url.trim()), stop: () => Promise.resolve() };
  const server = await startMysqlServer();
  return { urls: [server.url], stop: () => server.stop() };
}

async function prepared(url: string): Promise<MysqlServer> {
  if (!URL.canParse(url)) throw new Error('TEST_MYSQL_URL takes URLs: mysql://user:password@host:port');
  try {
    const server = await identifyMysqlServer(url);
    await dropLeftovers(server, Date.now());
    return server;
  } catch (cause) {
    throw new Error(`The MySQL-protocol server at ${new URL(url).host} cannot serve the tests`, { cause });
  }
}

/** Runs once before all test files; the function that it returns runs after the last one. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const temporaryFolder = await mkdtemp(join(tmpdir(), 'rr-test-'));
  const folder = watch({ commands: [], afterwards: [['rm', '-rf', temporaryFolder]] });
  const closing = [() => folder.stop()];
  const close = async () => {
    for (const stop of closing.reverse()) await stop();
  };
  try {
    const { urls, stop } = await servers();
    closing.push(stop);
    project.provide('mysqlServers', await Promise.all(urls.map(prepared)));
    project.provide('temporaryFolder', temporaryFolder);
  } catch (error) {
    await close();
    throw error;
  }
  return close;
}
