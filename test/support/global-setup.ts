import type { TestProject } from 'vitest/node';
import { dropLeftovers, identifyMysqlServer, type MysqlServer } from './mysql-databases.js';
import { startMysqlServer } from './mysql-server.js';
import { makeTemporaryFolder } from './temporary-folder.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** The MySQL-protocol servers of this run, at least one. */
    mysqlServers: readonly MysqlServer[];
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
  const closing = [await makeTemporaryFolder(project)];
  const close = async () => {
    for (const stop of closing.reverse()) await stop();
  };
  try {
    const { urls, stop } = await servers();
    closing.push(stop);
    project.provide('mysqlServers', await Promise.all(urls.map(prepared)));
  } catch (error) {
    await close();
    throw error;
  }
  return close;
}
