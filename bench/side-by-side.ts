import type { DatabaseServer } from './database.js';
import { type Figure, type Measured, ratiosOf, shown, valuesOf } from './figures.js';
import { median } from './load/percentile.js';
import { Rounds } from './rounds.js';
import type { Scale } from './scale.js';
import type { Scenario } from './scenarios.js';
import type { Server } from './servers.js';
import { table } from './table.js';
import type { Compared, Target, TargetName } from './testbed.js';

/** The number of uncached routes as a multiple of the cached ones: enough that no round requests one twice. */
const COLD = 10;
/** The most CPU time that a request may cost, as a multiple of its cost in the previous version. */
const MOST = 1.05;

/** Every call that is measured on both sides. */
const CALLS = [
  { name: 'gRPC get, hot', target: 'service', wire: 'grpc', operation: 'get', pick: 'hot' },
  { name: 'gRPC get', target: 'service', wire: 'grpc', operation: 'get', pick: 'uniform' },
  { name: 'gRPC get, not cached', target: 'cold', wire: 'grpc', operation: 'get', pick: 'once' },
  { name: 'REST get, hot', target: 'service', wire: 'http', operation: 'get', pick: 'hot' },
  { name: 'REST get', target: 'service', wire: 'http', operation: 'get', pick: 'uniform' },
  { name: 'REST get, separate gateway', target: 'gateway', wire: 'http', operation: 'get', pick: 'uniform' },
  { name: 'gRPC create', target: 'service', wire: 'grpc', operation: 'create', pick: 'hot' },
  { name: 'REST create', target: 'service', wire: 'http', operation: 'create', pick: 'hot' },
  ...(['create with key', 'create, 1 % repeats'] as const).map((operation) => ({
    name: `gRPC ${operation}`,
    target: 'service' as const,
    wire: 'grpc' as const,
    operation,
    pick: 'hot' as const,
  })),
  {
    name: 'REST create, separate gateway',
    target: 'gateway',
    wire: 'http',
    operation: 'create',
    pick: 'hot',
  },
] as const satisfies (Scenario & { readonly target: Compared })[];

type Start = (settings: Readonly<Record<string, string>>) => Promise<Server>;

/** One of the two sides of a comparison. */
export interface Side {
  readonly start: Start;
  /** Starts the service with a separate gateway. */
  readonly apart: Start;
}

/** The measurements of one call on both sides. */
export interface Pair {
  readonly name: string;
  readonly base: Measured;
  readonly other: Measured;
}

/** Measures every call on two sides, in turns. Each side has its own databases, with the same routes. */
export async function sideBySide(
  scale: Scale,
  database: DatabaseServer,
  { base, other }: { readonly base: Side; readonly other: Side },
  progress: (line: string) => void,
): Promise<Pair[]> {
  progress('filling databases and starting servers');
  const testbed = new Map<TargetName, Target>();
  const add = async (name: TargetName, routes: number, start: Start): Promise<void> => {
    const databaseUrl = await database.createDatabase(routes);
    const server = await start({ DATABASE_URL: databaseUrl });
    testbed.set(name, { ...server, databaseUrl, routes });
  };
  const { routes } = scale;
  await add('service', routes, base.start);
  await add('other service', routes, other.start);
  await add('cold', routes * COLD, base.start);
  await add('other cold', routes * COLD, other.start);
  await add('gateway', routes, base.apart);
  await add('other gateway', routes, other.apart);

  const pairs = CALLS.map((call): [Scenario, Scenario] => [
    call,
    { ...call, name: `${call.name}, other`, target: `other ${call.target}` },
  ]);
  const rounds = new Rounds(scale, testbed, database.pid);
  progress('filling the caches');
  const cached = CALLS.filter(({ pick }) => pick === 'uniform').map(({ name }) => name);
  for (const scenario of pairs.filter(([{ name }]) => cached.includes(name as never)).flat())
    await rounds.fillCache(scenario);
  const measured = await rounds.run(pairs, progress);
  return pairs.flatMap(([{ name }], i): Pair[] => {
    const [one, two] = measured.slice(2 * i);
    return one === undefined || two === undefined ? [] : [{ name, base: one, other: two }];
  });
}

/** A table of each call's rate and CPU time on both sides, with the ratios within the rounds. */
export function pairTable(pairs: readonly Pair[]): string {
  const cells = ({ base: one, other: two }: Pair, figure: Figure): string[] => [
    shown(valuesOf(one, figure)),
    shown(valuesOf(two, figure)),
    shown(ratiosOf(figure, two, one)),
  ];
  return table(
    ['call', 'requests/s, before', 'now', '×', 'CPU ms, before', 'now', '×'],
    pairs.map((pair) => [pair.name, ...cells(pair, 'rate'), ...cells(pair, 'serverCpuMs')]),
  );
}

/** An error message for each call whose median cost on the other side is more than `MOST` allows. */
export function tooDear(pairs: readonly Pair[]): string[] {
  return pairs.flatMap(({ name, base, other }) => {
    const ratios = ratiosOf('serverCpuMs', other, base);
    const ratio = median(ratios);
    return ratio > MOST
      ? [
          `${name} costs ${ratio.toFixed(2)} times the CPU time of the version before (${shown(ratios)}); at most ${MOST} is allowed.`,
        ]
      : [];
  });
}
