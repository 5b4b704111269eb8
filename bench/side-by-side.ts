import type { DatabaseServer } from './database.js';
import type { Goal, Measured } from './figures.js';
import { Rounds } from './rounds.js';
import type { Scale } from './scale.js';
import { type Scenario, scenarios } from './scenarios.js';
import type { Server } from './servers.js';
import type { Compared, Target, TargetName } from './testbed.js';

/** The routes that nobody has cached, enough for all rounds, as a multiple of those that are asked for again and again. */
const COLD = 10;

/** One of two kinds of the service. */
export interface Side {
  readonly start: (settings: Readonly<Record<string, string>>) => Promise<Server>;
  /** The end of the names of its scenarios. */
  readonly suffix: string;
}

/**
 * Measures every call that the service answers in one process on two sides, in turns, each on its own databases with the
 * same routes.
 *
 * @param goals the goals of the other side, by the name of the scenario beside it
 * @param caches how many caches a side has to be filled
 */
export async function sideBySide(
  scale: Scale,
  database: DatabaseServer,
  { base, other }: { readonly base: Side; readonly other: Side },
  goals: (beside: string) => readonly Goal[],
  caches: number,
  progress: (line: string) => void,
): Promise<Measured[]> {
  progress('filling databases and starting servers');
  const testbed = new Map<TargetName, Target>();
  const add = async (name: TargetName, { start }: Side, routes: number): Promise<void> => {
    const databaseUrl = await database.createDatabase(routes);
    const server = await start({ DATABASE_URL: databaseUrl });
    testbed.set(name, { ...server, databaseUrl, routes });
  };
  await add('service', base, scale.routes);
  await add('other service', other, scale.routes);
  await add('cold', base, scale.routes * COLD);
  await add('other cold', other, scale.routes * COLD);

  const pairs = scenarios(scale)
    .flat()
    .flatMap((scenario): Scenario[][] => {
      const { name, target, rate, tool } = scenario;
      if (!isCompared(target) || rate !== undefined || tool !== undefined) return [];
      const first = { ...scenario, name: name + base.suffix, goals: [] };
      const second = { ...scenario, name: name + other.suffix, target: `other ${target}` as const };
      return [[first, { ...second, goals: goals(first.name) }]];
    });
  const rounds = new Rounds(scale, testbed, database.pid);
  progress('filling the caches');
  const cached = pairs.flat().filter(({ wire, pick }) => wire === 'grpc' && pick === 'uniform');
  for (const scenario of cached) for (let i = 0; i < caches; i++) await rounds.fillCache(scenario);
  return rounds.run(pairs, progress);
}

function isCompared(target: TargetName): target is Compared {
  return target === 'service' || target === 'cold';
}
