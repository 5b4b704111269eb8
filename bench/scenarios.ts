import { CONTENDERS, KINDS, LOGGING, scenarioName } from './contenders.js';
import { type Measured, middle } from './figures.js';
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
  /** Requests per second of an open loop; default: a closed loop. */
  readonly rate?: number;
}

/** Creates with request ids, which must cost the others little. */
export const KEYED = ['create with key', 'create, 1 % repeats'] as const satisfies readonly Operation[];

/** Both protocols, each with the prefix of its scenarios' names. */
const PROTOCOLS = [
  ['gRPC', 'grpc'],
  ['REST', 'http'],
] as const satisfies readonly [string, Wire][];

/** The rows of the cost table: a choice of the operator, and the target that has it. All but the last request one route. */
export const COSTS = [
  { title: 'As `npm start` runs it, the same route every time', name: 'hot', target: 'alone' },
  { title: 'Without metrics (`OPS_ADDRESS=off`)', name: 'without metrics', target: 'unmetered' },
  {
    title: 'Without a log line per request (`ACCESS_LOG=failures`)',
    name: 'without log lines',
    target: 'unlogged',
  },
  {
    title: 'With traces (`OTEL_EXPORTER_OTLP_ENDPOINT`), every request sampled',
    name: 'with traces',
    target: 'traced',
  },
  { title: 'Routes that are not cached', name: 'not cached', target: 'cold' },
] as const satisfies readonly { title: string; name: string; target: TargetName }[];

/** The name of the scenario for one of the `COSTS`, over gRPC or REST. */
export function costName(protocol: 'gRPC' | 'REST', { name }: Readonly<Record<'name', string>>): string {
  return `${protocol} get, ${name}`;
}

/** The low rate at which latency is measured, in requests per second; the other one is half of a server's highest rate. */
export const OPEN_RATE = 500;

/** The name of the scenario that measures a scenario's latency at a rate. */
export function atRate(name: string, rate: 'slow' | 'half'): string {
  return rate === 'slow' ? `${name}, ${OPEN_RATE}/s` : `${name}, half load`;
}

/** The scenarios whose latency is measured: gets from the service and from the bare servers. */
export const TIMED = KINDS.filter(({ operation }) => operation === 'get').flatMap((kind) =>
  CONTENDERS.filter(({ targets }) => ['service', 'echo', 'app'].includes(targets[kind.name] ?? '')).map(
    (contender) => scenarioName(kind, contender),
  ),
);

/**
 * The scenarios that depend on no earlier measurement, in groups that are compared with each other.
 *
 * @param targets the running targets; scenarios of other targets are left out
 */
export function scenarios({ growth }: Scale, targets: ReadonlySet<TargetName>): Scenario[][] {
  const sideBySide = KINDS.map((kind) =>
    [...CONTENDERS, LOGGING].flatMap((contender) => {
      const target = contender.targets[kind.name];
      if (target === undefined) return [];
      const { wire } = kind;
      const operation = target === 'echo' ? 'echo' : kind.operation;
      return [{ name: scenarioName(kind, contender), target, wire, operation, pick: 'uniform' } as const];
    }),
  );
  const timed = sideBySide.flat().filter(({ name }) => TIMED.includes(name));
  const groups: Scenario[][] = [
    ...sideBySide,
    ...PROTOCOLS.map(([protocol, wire]) =>
      COSTS.map((cost) => {
        const { target } = cost;
        const pick = target === 'cold' ? 'once' : 'hot';
        return { name: costName(protocol, cost), target, wire, operation: 'get', pick } as const;
      }),
    ),
    ...(['get', 'create'] as const).map((operation) =>
      growth.map((stored) => ({
        name: growthName(operation, stored),
        target: `stored${stored}` as const,
        wire: 'grpc' as const,
        operation,
        pick: 'thousand' as const,
      })),
    ),
    KEYED.map((operation) => ({
      name: `gRPC ${operation}`,
      target: 'service' as const,
      wire: 'grpc' as const,
      operation,
      pick: 'uniform' as const,
    })),
    timed.map((scenario) => ({ ...scenario, name: atRate(scenario.name, 'slow'), rate: OPEN_RATE })),
  ];
  return groups.map((group) => group.filter(({ target }) => targets.has(target)));
}

/** The name of the scenario that gets or creates routes among this many stored ones, without the cache. */
export function growthName(operation: 'get' | 'create', stored: number): string {
  return `gRPC ${operation} among ${stored.toLocaleString('en')}`;
}

/** A group of open loops at half of the rate that each scenario reached in its closed loop, for the tail latency. */
export function atHalfLoad(planned: readonly Scenario[], measured: readonly Measured[]): Scenario[] {
  return TIMED.flatMap((name) => {
    const scenario = planned.find((each) => each.name === name);
    const reached = measured.find((each) => each.name === name);
    if (scenario === undefined || reached === undefined) return [];
    const half = (middle(reached, 'rate') ?? 0) / 2;
    return [{ ...scenario, name: atRate(name, 'half'), rate: half }];
  });
}
