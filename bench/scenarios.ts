import { type Goal, type Measured, middle } from './figures.js';
import type { Operation, Pick, Wire } from './load/load.js';
import type { Scale } from './scale.js';
import type { TargetName } from './testbed.js';

/** One line of the table: its target, its requests and its goals. */
export interface Scenario {
  readonly name: string;
  readonly target: TargetName;
  readonly wire: Wire;
  readonly operation: Operation;
  readonly pick: Pick;
  /** Requests a second of an open loop; default: a closed loop. */
  readonly rate?: number;
  /** Default: the benchmark's own load generator, which alone can ask for many routes. */
  readonly tool?: 'h2load';
  readonly goals: readonly Goal[];
}

const ECHO = 'grpc-js echo';
const APP = 'Express app';
const HOP = 'Router → grpc-js → echo';
const INSERT = 'INSERT loop';
const OPEN_RATE = 500;
/** The most CPU time of a request with metrics, as a multiple of one without. */
const METRICS_COST = 1.05;
/** Scenarios whose tail is seen at half of their capacity. */
const HALVED = [ECHO, 'gRPC GetRoute, uniform', 'REST GetRoute, uniform'];
/** The extra cost of a request among many stored routes that still counts as noise. */
const NOISE = 1.15;

/**
 * Everything that is measured in rounds and depends on no earlier measurement, in groups of scenarios that are compared:
 * each bare limit right before what is compared with it, so that the machine is the same for both.
 */
export function scenarios({ routes, growth }: Scale): Scenario[][] {
  const nearEcho = rate(ECHO, 0.85);
  const overApp: readonly Goal[] = [rate(APP, 2.2), { figure: 'serverCpuMs', atMost: 0.07 }];
  const memory: readonly Goal[] = routes < 100_000 ? [] : [{ figure: 'rssMib', atMost: 450 }];
  const appOpen = `${APP}, ${OPEN_RATE}/s`;
  const latency: Goal = { figure: 'p99Ms', over: appOpen, atMost: 5 };
  return [
    [
      scenario(ECHO, 'echo', 'grpc echo hot'),
      scenario('gRPC GetRoute, hot', 'service', 'grpc get hot', [nearEcho]),
      scenario('gRPC GetRoute, uniform', 'service', 'grpc get uniform', [nearEcho]),
      scenario('gRPC GetRoute, not cached', 'cold', 'grpc get once', [rate(ECHO, 0.65)]),
      scenario('SELECT loop', 'rows', 'mysql get uniform'),
    ],
    choices('gRPC GetRoute, hot', 'grpc'),
    [
      scenario(APP, 'app', 'http get hot'),
      scenario('Express Router on node:http', 'router', 'http get hot'),
      scenario('REST GetRoute, hot', 'service', 'http get hot', overApp),
      scenario('REST GetRoute, uniform', 'service', 'http get uniform', [...overApp, ...memory]),
    ],
    choices('REST GetRoute, hot', 'http'),
    [
      scenario(HOP, 'hop', 'http get hot'),
      scenario('REST GetRoute, gateway apart', 'gateway', 'http get hot', [rate(HOP, 0.85)]),
    ],
    [
      scenario(INSERT, 'rows', 'mysql create hot'),
      scenario('gRPC CreateRoute', 'service', 'grpc create hot', [rate(INSERT, 1.5)]),
      scenario('REST CreateRoute', 'service', 'http create hot', [rate(INSERT, 1.5)]),
    ],
    [
      scenario(appOpen, 'app', 'http get hot'),
      scenario(`gRPC GetRoute, ${OPEN_RATE}/s`, 'service', 'grpc get uniform', [latency]),
      scenario(`REST GetRoute, ${OPEN_RATE}/s`, 'service', 'http get uniform', [latency]),
    ].map((each) => ({ ...each, rate: OPEN_RATE })),
    byH2load(
      scenario(ECHO, 'echo', 'grpc echo hot'),
      scenario('gRPC GetRoute, hot', 'service', 'grpc get hot'),
      0.85,
    ),
    byH2load(
      scenario(APP, 'app', 'http get hot'),
      scenario('REST GetRoute, hot', 'service', 'http get hot'),
      2.2,
    ),
    among(growth, 'get'),
    among(growth, 'create'),
  ];
}

/** A group in an open loop at half of the requests a second that closed loops reached, for the tail of the latency. */
export function atHalfLoad(planned: readonly Scenario[], measured: readonly Measured[]): Scenario[] {
  const tail: Goal = { figure: 'p99Ms', times: `${ECHO}, half load`, atMost: 0.5 };
  return HALVED.flatMap((name) => {
    const scenario = planned.find((each) => each.name === name);
    const reached = measured.find((each) => each.name === name);
    if (scenario === undefined || reached === undefined) return [];
    const half = (middle(reached, 'rate') ?? 0) / 2;
    return [{ ...scenario, name: `${name}, half load`, rate: half, goals: name === ECHO ? [] : [tail] }];
  });
}

/** A get without and with each of the things that operators choose. */
function choices(name: string, wire: Wire): Scenario[] {
  const unmetered = `${name}, without metrics`;
  const metrics: Goal = { figure: 'serverCpuMs', times: unmetered, atMost: METRICS_COST };
  return [
    scenario(`${name}, alone`, 'alone', `${wire} get hot`, [metrics]),
    scenario(unmetered, 'unmetered', `${wire} get hot`),
    scenario(`${name}, without a line each`, 'unlogged', `${wire} get hot`),
    scenario(`${name}, with traces`, 'traced', `${wire} get hot`),
  ];
}

/** The same by another load generator, as a check on ours. */
function byH2load(limit: Scenario, service: Scenario, atLeast: number): Scenario[] {
  const name = `${limit.name}, h2load`;
  return [
    { ...limit, name, tool: 'h2load' },
    { ...service, name: `${service.name}, h2load`, tool: 'h2load', goals: [rate(name, atLeast)] },
  ];
}

/** The same request among more and more stored routes. */
function among([least = 0, ...more]: readonly number[], operation: 'get' | 'create'): Scenario[] {
  const name = (stored: number): string => `gRPC ${operation} among ${stored.toLocaleString('en')}`;
  const load = `grpc ${operation} thousand` as const;
  const likeTheLeast: Goal = { figure: 'cpuMs', times: name(least), atMost: NOISE };
  return [
    scenario(name(least), `stored${least}`, load),
    ...more.map((stored) => scenario(name(stored), `stored${stored}`, load, [likeTheLeast])),
  ];
}

function scenario(
  name: string,
  target: TargetName,
  load: `${Wire} ${Operation} ${Pick}`,
  goals: readonly Goal[] = [],
): Scenario {
  const [wire, operation, pick] = load.split(' ') as [Wire, Operation, Pick];
  return { name, target, wire, operation, pick, goals };
}

function rate(baseline: string, atLeast: number): Goal {
  return { figure: 'rate', times: baseline, atLeast };
}
