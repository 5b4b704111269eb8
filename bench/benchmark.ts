import { profile } from './anatomy.js';
import { checkAnswers } from './check-answers.js';
import { CONTENDERS, KINDS, LOGGING, scenarioName } from './contenders.js';
import type { DatabaseServer } from './database.js';
import { H2LOAD_ADVICE, hasH2load } from './load/h2load.js';
import { describeMachine, type Run } from './report/run.js';
import { Rounds } from './rounds.js';
import type { Scale } from './scale.js';
import { atHalfLoad, costName, COSTS, type Scenario, scenarios } from './scenarios.js';
import type { Servers } from './servers.js';
import { measureStartUp } from './start-up.js';
import { openTestbed } from './testbed.js';

const GO_ADVICE =
  'The peer in Go is not measured: build it as bench/peers/README.md says, then give --go PATH.';

/** Those whose CPU time is broken down: what one request costs as `npm start` starts the service. */
const DISSECTED = [
  ...COSTS.filter(({ name }) => name === 'hot' || name === 'not cached').flatMap((cost) => [
    costName('gRPC', cost),
    costName('REST', cost),
  ]),
  ...KINDS.filter(({ operation }) => operation === 'create').map((kind) => scenarioName(kind, LOGGING)),
];

/**
 * Measures everything, one thing at a time.
 *
 * @param goBinary the peer in Go; default: it is left out
 * @param progress is told what is under way
 */
export async function runBenchmark(
  scale: Scale,
  database: DatabaseServer,
  servers: Servers,
  goBinary: string | undefined,
  progress: (line: string) => void,
): Promise<Run> {
  const at = new Date().toISOString();
  const h2load = await hasH2load();
  if (!h2load) progress(H2LOAD_ADVICE);
  if (goBinary === undefined) progress(GO_ADVICE);

  progress('start to first answer');
  const startUp = await measureStartUp(servers, scale.rounds);

  progress('filling databases and starting servers');
  const testbed = await openTestbed(scale, database, servers, goBinary);
  const rounds = new Rounds(scale, testbed, database.pid);
  const groups = scenarios(scale, new Set(testbed.keys())).filter(
    ([first]) => first !== undefined && (first.tool === undefined || h2load),
  );
  const planned = groups.flat();

  progress('checking what the servers answer');
  for (const { targets } of CONTENDERS.filter(({ role }) => role !== 'limit')) {
    const names = new Set(Object.values(targets));
    for (const name of names) await checkAnswers(name, testbed.get(name));
  }
  for (const scenario of planned.filter(fillsCache)) {
    progress(`filling the cache: ${scenario.name}`);
    await rounds.fillCache(scenario);
  }
  const measured = await rounds.run(groups, progress);
  const tails = await rounds.run([atHalfLoad(planned, measured)], progress);
  const anatomies: Run['anatomies'][number][] = [];
  for (const scenario of planned.filter(({ name }) => DISSECTED.includes(name))) {
    progress(`anatomy: ${scenario.name}`);
    anatomies.push(await profile(scenario, testbed.get(scenario.target)?.databaseUrl ?? '', rounds, servers));
  }
  const { description } = database;
  const rows = [...measured, ...tails, startUp];
  return { at, machine: describeMachine(), database: description, scale, rows, anatomies };
}

/** Whether its target keeps the routes that it is asked for. Over REST where it can be: one fill serves both protocols. */
function fillsCache({ target, wire, operation, pick, rate, tool }: Scenario): boolean {
  const cached = ['service', 'logging', 'gateway', 'go with a cache'].includes(target);
  return (
    cached && wire === 'http' && operation === 'get' && pick === 'uniform' && (rate ?? tool) === undefined
  );
}
