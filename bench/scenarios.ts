import { CONTENDERS, KINDS, scenarioName } from './contenders.js';
import type { Operation, Pick, Wire } from './load/load.js';
import type { Scale } from './scale.js';
import type { TargetName } from './testbed.js';

/** One row of the table: a target and the requests that it receives. */
export interface Scenario {
  readonly name: string;
  readonly target: TargetName;
  readonly wire: Wire;
  readonly operation: Operation;
  readonly pick: Pick;
}

/** Both protocols, each with the prefix of its scenarios' names. */
const PROTOCOLS = [
  ['gRPC', 'grpc'],
  ['REST', 'http'],
] as const satisfies readonly [string, Wire][];

/** The last row of the cost table, whose gets request no route twice, and so fill the caches. */
export const NOT_CACHED = {
  title: 'Each route for the first time, which fills the caches',
  name: 'not cached',
  target: 'cold',
} as const;

/** The rows of the cost table: a choice of the operator, and the target that has it. All but the last request one route. */
export const COSTS = [
  { title: 'As `npm start` runs it, always the same route', name: 'hot', target: 'alone' },
  { title: 'Without metrics (`OPS_ADDRESS=off`)', name: 'without metrics', target: 'unmetered' },
  {
    title: 'Without log lines (`ACCESS_LOG=failures`)',
    name: 'without log lines',
    target: 'unlogged',
  },
  {
    title: 'With traces of every request (`OTEL_EXPORTER_OTLP_ENDPOINT`)',
    name: 'with traces',
    target: 'traced',
  },
  NOT_CACHED,
] as const satisfies readonly { title: string; name: string; target: TargetName }[];

/**
 * The rows of the table of hops: a separate gateway, built up from its plainest form. Each row has what the one above has,
 * and its title's. All request one route.
 */
export const HOPS = [
  { title: "Express's router and a plain grpc-js call, to a bare grpc-js server", target: 'hop' },
  { title: 'The transcoder in place of the router', target: 'transcoder hop' },
  {
    title: '`grpcUpstream` in place of the plain call: deadlines, cancellation, shares',
    target: 'upstream hop',
  },
  { title: 'The gateway: limits, pages, responses written together', target: 'quiet gateway hop' },
  { title: 'Its metrics and log lines', target: 'gateway hop' },
  { title: 'The gRPC server: limits, tokens, the pipeline, its cache', target: 'quiet server' },
  { title: 'Its metrics and log lines: the whole', target: 'gateway' },
] as const satisfies readonly { title: string; target: TargetName }[];

/** The name of the scenario for one of the `HOPS`. */
export function hopName({ target }: Readonly<Record<'target', string>>): string {
  return `REST get, built up: ${target}`;
}

/** The name of the scenario for one of the `COSTS`, over gRPC or REST. */
export function costName(protocol: 'gRPC' | 'REST', { name }: Readonly<Record<'name', string>>): string {
  return `${protocol} get, ${name}`;
}

/**
 * The scenarios, in groups that are compared with each other.
 *
 * @param targets the running targets; scenarios of other targets are left out
 */
export function scenarios({ growth }: Scale, targets: ReadonlySet<TargetName>): Scenario[][] {
  const sideBySide = KINDS.map((kind) =>
    CONTENDERS.flatMap((contender) => {
      const target = contender.targets[kind.name];
      if (target === undefined) return [];
      const { wire } = kind;
      const plain = target === 'echo' ? 'echo' : kind.operation;
      const operation = kind.operation === 'create' ? (contender.creates ?? plain) : plain;
      return [{ name: scenarioName(kind, contender), target, wire, operation, pick: 'uniform' } as const];
    }),
  );
  const groups: Scenario[][] = [
    ...sideBySide,
    ...PROTOCOLS.map(([protocol, wire]) =>
      COSTS.map((cost) => {
        const { target } = cost;
        const pick = target === 'cold' ? 'once' : 'hot';
        return { name: costName(protocol, cost), target, wire, operation: 'get', pick } as const;
      }),
    ),
    HOPS.map((hop) => ({
      name: hopName(hop),
      target: hop.target,
      wire: 'http' as const,
      operation: 'get' as const,
      pick: 'hot' as const,
    })),
    ...(['get', 'create'] as const).map((operation) =>
      growth.map((stored) => ({
        name: growthName(operation, stored),
        target: `stored${stored}` as const,
        wire: 'grpc' as const,
        operation,
        pick: 'thousand' as const,
      })),
    ),
  ];
  return groups.map((group) => group.filter(({ target }) => targets.has(target)));
}

/** The name of the scenario that gets or creates routes among this many stored ones, without the cache. */
export function growthName(operation: 'get' | 'create', stored: number): string {
  return `gRPC ${operation} among ${stored.toLocaleString('en')}`;
}
