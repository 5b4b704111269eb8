import { type Anatomy, profilingTo, readAnatomy } from './anatomy.js';
import type { DatabaseServer } from './database.js';
import type { Goal } from './goals.js';
import { H2LOAD_ADVICE, hasH2load } from './load/h2load.js';
import { type Curve, offerLoad } from './offered-load.js';
import { describeMachine, type Run } from './report/run.js';
import { rowsOf } from './report/table.js';
import { Rounds } from './rounds.js';
import type { Scale } from './scale.js';
import { atHalfLoad, type Scenario, scenarios } from './scenarios.js';
import type { Servers } from './servers.js';
import { measureStartUp } from './start-up.js';
import { openTestbed, type Target } from './testbed.js';

/** The time until a new process runs compiled code, in milliseconds. */
const COMPILE_MS = 1_000;
const START_GOAL: Goal = { figure: 'p50', atMost: 1_000 };

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
  const planned = scenarios(scale).filter(({ tool }) => tool === undefined || h2load);
  const named = (names: readonly string[]): Scenario[] => planned.filter(({ name }) => names.includes(name));

  progress('filling the caches');
  for (const scenario of named(CACHED)) await rounds.fillCache(scenario);
  const measured = await rounds.run(planned, progress);
  const halfLoads = atHalfLoad(planned, measured);
  const tails = await rounds.run(halfLoads, progress);

  const curves: Curve[] = [];
  for (const scenario of named(OFFERED)) {
    progress(`offered load: ${scenario.name}`);
    curves.push(await offerLoad(rounds, scenario, scale));
  }
  const anatomies: Anatomy[] = [];
  for (const scenario of named(DISSECTED)) {
    progress(`anatomy: ${scenario.name}`);
    anatomies.push(await dissect(scenario, testbed.get(scenario.target), rounds, servers));
  }

  const goals = [...planned, ...halfLoads].map((scenario) => scenario.goals);
  return {
    at,
    machine: describeMachine(),
    database: database.description,
    scale,
    rows: rowsOf([...measured, ...tails, startUp], [...goals, [START_GOAL]]),
    curves,
    anatomies,
  };
}

/** Runs a scenario against a separate process that profiles itself. */
async function dissect(
  scenario: Scenario,
  target: Target | undefined,
  rounds: Rounds,
  servers: Servers,
): Promise<Anatomy> {
  const folder = await servers.folder();
  const settings = { DATABASE_URL: target?.databaseUrl ?? '' };
  const { child, grpc, http } = await servers.serviceProcess(settings, profilingTo(folder));
  const address = (scenario.wire === 'grpc' ? grpc : http) ?? '';
  const load = await rounds.measure(scenario, {
    target: address,
    serverPids: [child.pid],
    warmUpMs: COMPILE_MS,
  });
  await child.stop();
  return readAnatomy(scenario.name, folder, load);
}
