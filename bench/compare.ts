import type { DatabaseServer } from './database.js';
import { type Row, rowsOf } from './report/table.js';
import { Rounds } from './rounds.js';
import type { Scale } from './scale.js';
import { type Scenario, scenarios } from './scenarios.js';
import type { Servers } from './servers.js';
import type { Compared, Target, TargetName } from './testbed.js';

/** The most CPU time that a request may cost, as a multiple of the old one's. */
const AT_MOST = 1.1;
/** The routes that nobody has cached, enough for all rounds, as a multiple of those that are asked for again and again. */
const COLD = 10;

/**
 * Measures every call that the service answers in one process beside that of another checkout, round by round, each on its
 * own databases with the same routes and the same settings.
 */
export async function compare(
  scale: Scale,
  database: DatabaseServer,
  servers: Servers,
  others: Servers,
  progress: (line: string) => void,
): Promise<Row[]> {
  progress('filling databases and starting servers');
  const testbed = new Map<TargetName, Target>();
  const add = async (name: TargetName, from: Servers, routes: number): Promise<void> => {
    const databaseUrl = await database.createDatabase(routes);
    testbed.set(name, { ...(await from.service({ DATABASE_URL: databaseUrl })), databaseUrl, routes });
  };
  await add('old service', others, scale.routes);
  await add('service', servers, scale.routes);
  await add('old cold', others, scale.routes * COLD);
  await add('cold', servers, scale.routes * COLD);
  const rounds = new Rounds(scale, testbed, database.pid);
  const planned = scenarios(scale).flatMap(besideOld);

  progress('filling the caches');
  const filling = planned.filter(({ wire, pick }) => wire === 'grpc' && pick === 'uniform');
  for (const scenario of filling) await rounds.fillCache(scenario);
  const measured = await rounds.run(planned, progress);
  return rowsOf(
    measured,
    planned.map(({ goals }) => goals),
  );
}

/** The scenario for the old service and then for this one; none for one with another target or at a fixed rate. */
function besideOld(scenario: Scenario): Scenario[] {
  const { target, rate, tool } = scenario;
  if (!isCompared(target) || rate !== undefined || tool !== undefined) return [];
  const old: Scenario = { ...scenario, name: `${scenario.name}, old`, target: `old ${target}`, goals: [] };
  return [old, { ...scenario, goals: [{ figure: 'cpu', times: old.name, atMost: AT_MOST }] }];
}

function isCompared(target: TargetName): target is Compared {
  return target === 'service' || target === 'cold';
}
