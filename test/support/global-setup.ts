import type { TestProject } from 'vitest/node';
import { GALERA_ADVICE, type GaleraPrograms, galeraPrograms } from './galera-programs.js';
import { dropLeftovers, identifyMysqlServer, type MysqlServer } from './mysql-databases.js';
import { SERVER_ADVICE, startMysqlServer } from './mysql-server.js';
import { OTHER_USER_ADVICE, tryOtherUser } from './other-user.js';
import { isPackaged, programAdvice, type ProgramName, supplyProgram } from './programs.js';
import { reasonOf } from './reason.js';
import type { Need } from './need.js';
import { makeTemporaryFolder } from './temporary-folder.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** What the tests of this project need; vitest.config.ts says it. */
    needs: readonly Need[];
    /** The MySQL-protocol servers of this run; none where none can be had, or is needed. */
    mysqlServers: readonly MysqlServer[];
    /** The paths of the programs that are needed and there. */
    programs: Readonly<Partial<Record<ProgramName, string>>>;
    /** The programs of a Galera cluster, where they are needed and there. */
    galera: GaleraPrograms;
    /** Of what is needed and not there: why, and how to get it, in a line. */
    missing: Readonly<Partial<Record<Need, string>>>;
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

function adviceOn(need: Need): string {
  if (need === 'server') return SERVER_ADVICE;
  if (need === 'another user') return OTHER_USER_ADVICE;
  return need === 'galera' ? GALERA_ADVICE : programAdvice(need);
}

/** @throws Error that names what is missing and could be had */
export function failFor(missing: Readonly<Partial<Record<Need, string>>>): void {
  const lacks = (Object.keys(missing) as Need[]).filter(
    (need) => need === 'server' || need === 'galera' || (need !== 'another user' && isPackaged(need)),
  );
  if (lacks.length === 0) return;
  const reasons = lacks.map((need) => `${need}: ${missing[need] ?? ''}`);
  throw new Error(`With CI=true nothing may be missing, and this is: ${reasons.join(' ')}`);
}

/**
 * Gets what the tests of a project need, before any of them is read; the function that it returns runs after the last
 * one. What cannot be had is missing: its tests are left out, or, with CI=true, the run fails.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const closing = [await makeTemporaryFolder(project)];
  const close = async () => {
    for (const stop of closing.reverse()) await stop();
  };
  try {
    const { needs } = project.getProvidedContext();
    const missing: Partial<Record<Need, string>> = {};
    const programs: Partial<Record<ProgramName, string>> = {};
    let urls: readonly string[] = [];
    const supply = async (need: Need): Promise<void> => {
      if (need === 'server') {
        const found = await servers();
        closing.push(found.stop);
        urls = found.urls;
      } else if (need === 'another user') await tryOtherUser();
      else if (need === 'galera') project.provide('galera', await galeraPrograms());
      else programs[need] = await supplyProgram(need);
    };
    await Promise.all(
      needs.map((need) =>
        supply(need).catch((error: unknown) => {
          missing[need] = `${reasonOf(error)}. To have it, ${adviceOn(need)}.`;
        }),
      ),
    );
    if (process.env['CI'] === 'true') failFor(missing);
    project.provide('programs', programs);
    project.provide('missing', missing);
    project.provide('mysqlServers', await Promise.all(urls.map(prepared)));
  } catch (error) {
    await close();
    throw error;
  }
  return close;
}
