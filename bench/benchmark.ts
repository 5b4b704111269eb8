import { checkAnswers } from './check-answers.js';
import { CONTENDERS } from './contenders.js';
import type { DatabaseServer } from './database.js';
import { describeMachine, Machine } from './machine.js';
import { Rounds } from './rounds.js';
import type { Run } from './run.js';
import type { Scale } from './scale.js';
import { type Scenario, scenarios } from './scenarios.js';
import type { Servers } from './servers.js';
import { openTestbed } from './testbed.js';

const GO_ADVICE =
  'The Go peer is not measured: build it as described in bench/peers/README.md, then pass --go PATH.';

/**
 * Runs the whole benchmark, one measurement at a time.
 *
 * @param goBinary path of the Go peer's binary; default: the Go peer is not measured
 * @param progress called with a line for each step
 */
export async function runBenchmark(
  scale: Scale,
  database: DatabaseServer,
  servers: Servers,
  goBinary: string | undefined,
  progress: (line: string) => void,
): Promise<Run> {
  const at = new Date().toISOString();
  const machine = new Machine();
  if (goBinary === undefined) progress(GO_ADVICE);

  progress('filling databases and starting servers');
  const testbed = await openTestbed(scale, database, servers, goBinary);
  const rounds = new Rounds(scale, testbed, database.pid);
  const groups = scenarios(scale, new Set(testbed.keys()));
  const planned = groups.flat();

  progress('checking the responses of the servers');
  for (const { targets } of CONTENDERS.filter(({ role }) => role !== 'bare')) {
    const names = new Set(Object.values(targets));
    for (const name of names) await checkAnswers(name, testbed.get(name));
  }
  for (const scenario of planned.filter(fillsCache)) {
    progress(`filling the cache: ${scenario.name}`);
    await rounds.fillCache(scenario);
  }
  const measured = await rounds.run(groups, progress, machine);
  const { description } = database;
  return {
    at,
    machine: describeMachine(),
    steadiness: machine.steadiness(),
    database: description,
    scale,
    rows: measured,
  };
}

/** Whether this scenario fills its target's cache before the rounds. REST gets do: one fill serves both protocols. */
function fillsCache({ target, wire, operation, pick }: Scenario): boolean {
  const cached = ['service', 'gateway', 'go with a cache'].includes(target);
  return cached && wire === 'http' && operation === 'get' && pick === 'uniform';
}
