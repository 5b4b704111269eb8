import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { buildContracts } from '../../packages/transcoder/test/support/contracts.js';
import { GALERA_ADVICE, type GaleraPrograms, galeraPrograms } from './galera-programs.js';
import { dropLeftovers, identifyMysqlServer, type MysqlServer } from './mysql-databases.js';
import { SERVER_ADVICE, startMysqlServer } from './mysql-server.js';
import { watch } from './mysql-watchdog.js';
import { makeOnDemand } from './on-demand.js';
import { OTHER_USER_ADVICE, tryOtherUser } from './other-user.js';
import { isPackaged, type Need, programAdvice, type ProgramName, supplyProgram } from './programs.js';
import { reasonOf } from './reason.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** A folder that is removed with its content when the run ends, for whatever reason. */
    temporaryFolder: string;
    /** What the tests of this tier need, from vitest.config.ts. */
    needs: readonly Need[];
    /** What was found of that, once a test file has asked for it. */
    supplies?: Supplies;
  }
}

/** What the tests of a tier need, as far as it is there. */
export interface Supplies {
  /** The MySQL-protocol servers of this run; empty if none is available or needed. */
  readonly mysqlServers: readonly MysqlServer[];
  /** The paths of the needed programs that are available. */
  readonly programs: Readonly<Partial<Record<ProgramName, string>>>;
  /** The programs of a Galera cluster, if they are needed and available. */
  readonly galera?: GaleraPrograms;
  /** For each missing need, in one line: why it is missing, and how to get it. */
  readonly missing: Readonly<Partial<Record<Need, string>>>;
}

interface Servers {
  readonly urls: readonly string[];
  readonly stop: () => Promise<void>;
}

/** The servers in `TEST_MYSQL_URL`, separated by commas; default: a server that the run starts and stops. */
async function servers(): Promise<Servers> {
  const configured = process.env['TEST_MYSQL_URL'];
  if (configured)
    return { urls: configured.split(',').map((url) => url.trim()), stop: () => Promise.resolve() };
  const server = await startMysqlServer();
  return { urls: [server.url], stop: () => server.stop() };
}

/** Drops what ended runs have left on a server. @throws Error with its host, if it cannot serve the tests */
async function prepareServer(url: string): Promise<MysqlServer> {
  if (!URL.canParse(url)) throw new Error('TEST_MYSQL_URL takes URLs: mysql://user:password@host:port');
  try {
    const server = await identifyMysqlServer(url);
    await dropLeftovers(server, Date.now());
    return server;
  } catch (error) {
    const { host } = new URL(url);
    throw new Error(`The MySQL-protocol server at ${host} cannot serve the tests: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

function adviceOn(need: Need): string {
  if (need === 'server') return SERVER_ADVICE;
  if (need === 'another user') return OTHER_USER_ADVICE;
  return need === 'galera' ? GALERA_ADVICE : programAdvice(need);
}

/** @throws Error that names what is missing; only unpackaged programs and another user may be missing */
function failFor(missing: Readonly<Partial<Record<Need, string>>>): void {
  const lacks = (Object.keys(missing) as Need[]).filter(
    (need) => need === 'server' || need === 'galera' || (need !== 'another user' && isPackaged(need)),
  );
  if (lacks.length === 0) return;
  const reasons = lacks.map((need) => `${need}: ${missing[need] ?? ''}`);
  throw new Error(`With CI=true nothing may be missing, and this is: ${reasons.join(' ')}`);
}

/**
 * Starts or unpacks what the tests of a tier need.
 *
 * @param closing takes what stops it
 * @throws Error if something is missing, with CI=true
 */
async function supply(needs: readonly Need[], closing: (() => Promise<void>)[]): Promise<Supplies> {
  const missing: Partial<Record<Need, string>> = {};
  const programs: Partial<Record<ProgramName, string>> = {};
  let urls: readonly string[] = [];
  let galera: GaleraPrograms | undefined;
  const find = async (need: Need): Promise<void> => {
    if (need === 'server') {
      const found = await servers();
      closing.push(found.stop);
      urls = found.urls;
    } else if (need === 'another user') await tryOtherUser();
    else if (need === 'galera') galera = await galeraPrograms();
    else programs[need] = await supplyProgram(need);
  };
  await Promise.all(
    needs.map((need) =>
      find(need).catch((error: unknown) => {
        missing[need] = `${reasonOf(error)}. To have it, ${adviceOn(need)}.`;
      }),
    ),
  );
  if (process.env['CI'] === 'true') failFor(missing);
  const mysqlServers = await Promise.all(urls.map(prepareServer));
  return { mysqlServers, programs, missing, ...(galera && { galera }) };
}

/**
 * Provides a temporary folder, and whatever test files ask for while the run lasts. If something is missing, the tests
 * that need it are skipped or, with CI=true, fail.
 *
 * @returns the teardown, which runs after the last test
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const temporaryFolder = await mkdtemp(join(tmpdir(), 'rr-test-'));
  const watchdog = watch({ commands: [], afterwards: [['rm', '-rf', temporaryFolder]] });
  project.provide('temporaryFolder', temporaryFolder);
  const closing = [() => watchdog.stop()];
  const { needs } = project.getProvidedContext();
  const stopMaking = await makeOnDemand(project, {
    supplies: async () => {
      const supplies = await supply(needs, closing);
      project.provide('supplies', supplies);
      return supplies;
    },
    contracts: () => buildContracts(temporaryFolder),
  });
  return async () => {
    stopMaking();
    for (const stop of closing.reverse()) await stop();
  };
}
