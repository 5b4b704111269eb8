import type { DatabaseServer } from './database.js';
import { type Row, rowsOf } from './report/table.js';
import { Rounds } from './rounds.js';
import type { Scale } from './scale.js';
import { type Scenario, scenarios } from './scenarios.js';
import type { Servers } from './servers.js';
import type { Target, TargetName } from './testbed.js';

/** The most CPU time that a request may cost, with its share of the primary process, as a multiple of one process's. */
const AT_MOST = 1.2;

/**
 * Measures the calls that the service answers in one process beside the same with several workers, round by round, each
 * on its own database with the same routes. The load generator and the database have their share of the cores, too.
 */
export async function compareWorkers(
  scale: Scale,
  database: DatabaseServer,
  servers: Servers,
  workers: number,
  progress: (line: string) => void,
): Promise<Row[]> {
  progress('filling databases and starting servers');
  const testbed = new Map<TargetName, Target>();
  const add = async (name: TargetName, count: number): Promise<void> => {
    const databaseUrl = await database.createDatabase(scale.routes);
    const server = await servers.service({ DATABASE_URL: databaseUrl, WORKERS: String(count) });
    testbed.set(name, { ...server, databaseUrl, routes: scale.routes });
  };
  await add('service', 1);
  await add('workers', workers);
  const rounds = new Rounds(scale, testbed, database.pid);
  const planned = scenarios(scale).flatMap((scenario) => besideWorkers(scenario, workers));

  progress('filling the caches');
  const filling = planned.filter(({ wire, pick }) => wire === 'grpc' && pick === 'uniform');
  // Each worker has its own cache, and gets only a share of the calls.
  for (const scenario of filling) for (let time = 0; time < workers; time++) await rounds.fillCache(scenario);
  const measured = await rounds.run(planned, progress);
  return rowsOf(
    measured,
    planned.map(({ goals }) => goals),
  );
}

/** The scenario with one process and then with several; none for one with another target or at a fixed rate. */
function besideWorkers(scenario: Scenario, workers: number): Scenario[] {
  const { name, target, rate, tool } = scenario;
  if (target !== 'service' || rate !== undefined || tool !== undefined) return [];
  const several: Scenario = {
    ...scenario,
    name: `${name}, ${workers} workers`,
    target: 'workers',
    goals: [
      { figure: 'rate', times: name, atLeast: 1 },
      { figure: 'cpu', times: name, atMost: AT_MOST },
    ],
  };
  return [{ ...scenario, goals: [] }, several];
}
