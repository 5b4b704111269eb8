import { type Contender, CONTENDERS, type Kind, KINDS, scenarioName } from './contenders.js';
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

/** A protocol, as the names of scenarios have it. */
export type Protocol = 'gRPC' | 'REST';

const PROTOCOLS = [
  ['gRPC', 'grpc'],
  ['REST', 'http'],
] as const satisfies readonly [Protocol, Wire][];

const OPERATIONS = ['get', 'create'] as const satisfies readonly Operation[];

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

/**
 * The scenarios, in groups that are compared with each other.
 *
 * @param targets the running targets; scenarios of other targets are left out
 */
export function scenarios({ growth }: Scale, targets: ReadonlySet<TargetName>): Scenario[][] {
  const groups = [
    ...KINDS.map(contenderScenarios),
    ...PROTOCOLS.map(([protocol, wire]) => costScenarios(protocol, wire)),
    hopScenarios(),
    ...OPERATIONS.map((operation) => growthScenarios(operation, growth)),
  ];
  return groups.map((group) => group.filter(({ target }) => targets.has(target)));
}

function contenderScenarios(kind: Kind): Scenario[] {
  return CONTENDERS.flatMap((contender) => {
    const target = contender.targets[kind.name];
    if (target === undefined) return [];
    const operation = operationFor(kind, contender, target);
    return [{ name: scenarioName(kind, contender), target, wire: kind.wire, operation, pick: 'uniform' }];
  });
}

/** What is requested of a contender: the bare echo server only echoes, and a contender may have creates of its own. */
function operationFor(kind: Kind, contender: Contender, target: TargetName): Operation {
  if (target === 'echo') return 'echo';
  return kind.operation === 'create' ? (contender.creates ?? 'create') : kind.operation;
}

function costScenarios(protocol: Protocol, wire: Wire): Scenario[] {
  return COSTS.map((cost) => ({
    name: costName(protocol, cost),
    target: cost.target,
    wire,
    operation: 'get',
    pick: cost === NOT_CACHED ? 'once' : 'hot',
  }));
}

function hopScenarios(): Scenario[] {
  return HOPS.map((hop) => ({
    name: hopName(hop),
    target: hop.target,
    wire: 'http',
    operation: 'get',
    pick: 'hot',
  }));
}

function growthScenarios(operation: 'get' | 'create', growth: Scale['growth']): Scenario[] {
  return growth.map((stored) => ({
    name: growthName(operation, stored),
    target: `stored${stored}`,
    wire: 'grpc',
    operation,
    pick: 'thousand',
  }));
}

/** The name of the scenario for one of the `COSTS`. */
export function costName(protocol: Protocol, { name }: { readonly name: string }): string {
  return `${protocol} get, ${name}`;
}

/** The name of the scenario for one of the `HOPS`. */
export function hopName({ target }: { readonly target: TargetName }): string {
  return `REST get, built up: ${target}`;
}

/** The name of the scenario that gets or creates routes among this many stored ones, without the cache. */
export function growthName(operation: 'get' | 'create', stored: number): string {
  return `gRPC ${operation} among ${stored.toLocaleString('en')}`;
}
