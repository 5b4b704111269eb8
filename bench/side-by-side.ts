import type { DatabaseServer } from './database.js';
import { type Figure, type Measured, ratiosOf, type Sample, formatFigure, valuesOf } from './figures.js';
import { median } from './load/percentile.js';
import { Rounds } from './rounds.js';
import type { Scale } from './scale.js';
import type { Scenario } from './scenarios.js';
import type { Servers } from './servers.js';
import { table } from './table.js';
import type { Compared, Target, TargetName } from './testbed.js';

/** The number of uncached routes as a multiple of the cached ones: enough that none is requested twice after a start. */
const COLD = 30;
/** How often the servers are started. */
const STARTS = 6;
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

/** One of the two sides of a comparison: the servers of a checkout. */
export type Side = Pick<Servers, 'service' | 'apart' | 'close'>;

/** The measurements of one call on both sides. */
export interface Pair {
  readonly name: string;
  readonly base: Measured;
  readonly other: Measured;
}

/**
 * Measures every call on two sides, in turns. Each side has its own databases, with the same routes, and is started several
 * times: what V8 inlines differs from process to process, and with it a request's cost by up to a tenth.
 */
export async function sideBySide(
  scale: Scale,
  database: DatabaseServer,
  { base, other }: { readonly base: Side; readonly other: Side },
  progress: (line: string) => void,
): Promise<Pair[]> {
  progress('filling databases');
  const starts = new Map<TargetName, () => Promise<Target>>();
  for (const target of ['service', 'cold', 'gateway'] as const) {
    const routes = scale.routes * (target === 'cold' ? COLD : 1);
    for (const [name, side] of [
      [target, base],
      [`other ${target}`, other],
    ] as const) {
      const databaseUrl = await database.createDatabase(routes);
      starts.set(name, async () => {
        const settings = { DATABASE_URL: databaseUrl };
        const server = await (target === 'gateway' ? side.apart(settings) : side.service(settings));
        return { ...server, databaseUrl, routes };
      });
    }
  }
  const pairs = CALLS.map((call): [Scenario, Scenario] => [
    call,
    { ...call, name: `${call.name}, other`, target: `other ${call.target}` },
  ]);
  const samples = pairs.flat().map((): Sample[] => []);
  for (let turn = 1; turn <= STARTS; turn++) {
    const here = (line: string): void => {
      progress(`start ${turn} of ${STARTS}: ${line}`);
    };
    const testbed = new Map<TargetName, Target>();
    for (const [name, start] of starts) testbed.set(name, await start());
    const rounds = new Rounds(scale, testbed, database.pid);
    here('filling the caches');
    for (const scenario of pairs.flat().filter(({ pick }) => pick === 'uniform'))
      await rounds.fillCache(scenario);
    const measured = await rounds.run(pairs, here);
    for (const [i, row] of measured.entries()) samples[i]?.push(...row.samples);
    await Promise.all([base.close(), other.close()]);
  }
  return pairs.map(([base, other], i) => ({
    name: base.name,
    base: { name: base.name, samples: samples[2 * i] ?? [] },
    other: { name: other.name, samples: samples[2 * i + 1] ?? [] },
  }));
}

/** A table of each call's rate and CPU time on both sides, with the ratios within the rounds. */
export function pairTable(pairs: readonly Pair[]): string {
  const cells = ({ base, other }: Pair, figure: Figure): string[] => [
    formatFigure(valuesOf(base, figure)),
    formatFigure(valuesOf(other, figure)),
    formatFigure(ratiosOf(figure, other, base)),
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
          `${name} costs ${ratio.toFixed(2)} times the CPU time of the version before (${formatFigure(ratios)}); at most ${MOST} is allowed.`,
        ]
      : [];
  });
}
