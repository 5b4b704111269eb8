import { profile } from './anatomy.js';
import type { DatabaseServer } from './database.js';
import { H2LOAD_ADVICE, hasH2load } from './load/h2load.js';
import { offerLoad } from './offered-load.js';
import { describeMachine, type Run } from './report/document.js';
import { Rounds } from './rounds.js';
import type { Scale } from './scale.js';
import { atHalfLoad, type Scenario, scenarios } from './scenarios.js';
import type { Servers } from './servers.js';
import { measureStartUp } from './start-up.js';
import { openTestbed } from './testbed.js';

/** The names of the scenarios that are also offered more and more load. */
const OFFERED = ['grpc-js echo', 'Express app', 'gRPC GetRoute, uniform', 'REST GetRoute, uniform'];
/** Those that ask servers for routes that they keep in memory. */
const CACHED = ['gRPC GetRoute, uniform', 'REST GetRoute, gateway apart'];
/** Those whose CPU time is broken down. */
const DISSECTED = [
  'gRPC GetRoute, hot',
  'gRPC GetRoute, not cached',
  'gRPC CreateRoute',
  'REST GetRoute, hot',
  'REST CreateRoute',
];

/** Measures everything, one thing at a time. `progress` is told what is under way. */
export async function runBenchmark(
  scale: Scale,
  database: DatabaseServer,
  servers: Servers,
  progress: (line: string) => void,
): Promise<Run> {
  const at = new Date().toISOString();
  const h2load = await hasH2load();
  if (!h2load) progress(H2LOAD_ADVICE);

  progress('start to first answer');
  const startUp = await measureStartUp(servers, scale.rounds);

  progress('filling databases and starting servers');
  const testbed = await openTestbed(scale, database, servers);
  const rounds = new Rounds(scale, testbed, database.pid);
  const groups = scenarios(scale).filter(([first]) => first?.tool === undefined || h2load);
  const planned = groups.flat();
  const each = <T>(
    names: readonly string[],
    what: string,
    take: (one: Scenario) => Promise<T>,
  ): Promise<T[]> =>
    inTurn(
      planned.filter(({ name }) => names.includes(name)),
      (one) => {
        progress(`${what}: ${one.name}`);
        return take(one);
      },
    );

  await each(CACHED, 'filling the cache', (one) => rounds.fillCache(one));
  const measured = await rounds.run(groups, progress);
  const tails = await rounds.run([atHalfLoad(planned, measured)], progress);
  const curves = await each(OFFERED, 'offered load', (one) => offerLoad(rounds, one, scale));
  const anatomies = await each(DISSECTED, 'anatomy', (one) =>
    profile(one, testbed.get(one.target)?.databaseUrl ?? '', rounds, servers),
  );
  const { description } = database;
  const rows = [...measured, ...tails, startUp];
  return { at, machine: describeMachine(), database: description, scale, rows, curves, anatomies };
}

async function inTurn<T, R>(all: readonly T[], take: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const one of all) results.push(await take(one));
  return results;
}
