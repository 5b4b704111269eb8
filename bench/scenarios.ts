import { type Measured, middle } from './figures.js';
import type { Goal } from './goals.js';
import type { Operation, Pick, Wire } from './load/load.js';
import type { Scale } from './scale.js';
import { storedTarget, type TargetName } from './testbed.js';

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
const APP_OPEN = 'Express app, 500/s';
const OPEN_RATE = 500;
const GRPC_HOT = 'gRPC GetRoute, hot';
const REST_HOT = 'REST GetRoute, hot';
/** The most CPU time of a request with metrics, as a multiple of one without. */
const METRICS_COST = 1.05;
/** Scenarios whose tail is seen at half of their capacity. */
const HALVED = [ECHO, 'gRPC GetRoute, uniform', 'REST GetRoute, uniform'];
const LATENCY: Goal = { figure: 'p99', over: APP_OPEN, atMost: 5 };
const TAIL: Goal = { figure: 'p99', times: halfLoad(ECHO), atMost: 0.5 };
/** The extra cost of a request among many stored routes that still counts as noise. */
const NOISE = 1.15;

/** Everything that is measured in rounds and depends on no earlier measurement. */
export function scenarios(scale: Scale): Scenario[] {
  return [...faces(scale), ...OPEN_LOOP, ...BY_H2LOAD, ...growth(scale)];
}

/** An open loop at half of the requests a second that this run's closed loops reached, for the tail of the latency. */
export function atHalfLoad(planned: readonly Scenario[], measured: readonly Measured[]): Scenario[] {
  return planned.flatMap((scenario, i) => {
    const found = measured[i];
    if (found === undefined || !HALVED.includes(scenario.name)) return [];
    const goals = scenario.name === ECHO ? [] : [TAIL];
    return [{ ...scenario, name: halfLoad(scenario.name), rate: (middle(found, 'rate') ?? 0) / 2, goals }];
  });
}

function halfLoad(name: string): string {
  return `${name}, half load`;
}

/** Each bare limit right before what is compared with it, so that the machine is the same for both. */
function faces({ routes }: Scale): Scenario[] {
  const nearEcho = rate(ECHO, 0.85);
  const overApp: readonly Goal[] = [rate(APP, 2.2), { figure: 'cpu', atMost: 0.07 }];
  const memory: readonly Goal[] = routes < 100_000 ? [] : [{ figure: 'memory', atMost: 400 }];
  return [
    scenario(ECHO, 'echo', 'grpc echo hot'),
    scenario(GRPC_HOT, 'service', 'grpc get hot', [nearEcho]),
    ...choices(GRPC_HOT, 'grpc'),
    scenario('gRPC GetRoute, uniform', 'service', 'grpc get uniform', [nearEcho]),
    scenario('gRPC GetRoute, not cached', 'cold', 'grpc get once', [rate(ECHO, 0.65)]),
    scenario('SELECT loop', 'rows', 'mysql get uniform'),
    scenario(APP, 'app', 'http get hot'),
    scenario('Express Router on node:http', 'router', 'http get hot'),
    scenario(REST_HOT, 'service', 'http get hot', overApp),
    ...choices(REST_HOT, 'http'),
    scenario('REST GetRoute, uniform', 'service', 'http get uniform', [...overApp, ...memory]),
    scenario(HOP, 'hop', 'http get hot'),
    scenario('REST GetRoute, gateway apart', 'gateway', 'http get hot', [rate(HOP, 0.85)]),
    scenario(INSERT, 'rows', 'mysql create hot'),
    scenario('gRPC CreateRoute', 'service', 'grpc create hot', [rate(INSERT, 1.5)]),
    scenario('REST CreateRoute', 'service', 'http create hot', [rate(INSERT, 1.5)]),
  ];
}

/** A get without and with each of the things that operators choose. */
function choices(name: string, wire: Wire): Scenario[] {
  const unmetered = `${name}, without metrics`;
  return [
    scenario(`${name}, alone`, 'alone', `${wire} get hot`, [cpuOf(unmetered, METRICS_COST)]),
    scenario(unmetered, 'unmetered', `${wire} get hot`),
    scenario(`${name}, without a line each`, 'unlogged', `${wire} get hot`),
    scenario(`${name}, with traces`, 'traced', `${wire} get hot`),
  ];
}

const OPEN_LOOP: readonly Scenario[] = [
  scenario(APP_OPEN, 'app', 'http get hot'),
  scenario('gRPC GetRoute, 500/s', 'service', 'grpc get uniform', [LATENCY]),
  scenario('REST GetRoute, 500/s', 'service', 'http get uniform', [LATENCY]),
].map((each) => ({ ...each, rate: OPEN_RATE }));

/** The same by another load generator, as a check on ours. */
const BY_H2LOAD: readonly Scenario[] = [
  scenario('grpc-js echo, h2load', 'echo', 'grpc echo hot'),
  scenario('gRPC GetRoute, hot, h2load', 'service', 'grpc get hot', [rate('grpc-js echo, h2load', 0.85)]),
  scenario('Express app, h2load', 'app', 'http get hot'),
  scenario('REST GetRoute, hot, h2load', 'service', 'http get hot', [rate('Express app, h2load', 2.2)]),
].map((each) => ({ ...each, tool: 'h2load' }));

function growth({ growth: [least = 0, ...more] }: Scale): Scenario[] {
  return (['get', 'create'] as const).flatMap((operation) => {
    const name = (stored: number): string => `gRPC ${operation} among ${stored.toLocaleString('en')}`;
    const load = `grpc ${operation} thousand` as const;
    return [
      scenario(name(least), storedTarget(least), load),
      ...more.map((stored) =>
        scenario(name(stored), storedTarget(stored), load, [
          { figure: 'cost', times: name(least), atMost: NOISE },
        ]),
      ),
    ];
  });
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

function cpuOf(baseline: string, atMost: number): Goal {
  return { figure: 'cpu', times: baseline, atMost };
}

function rate(baseline: string, atLeast: number): Goal {
  return { figure: 'rate', times: baseline, atLeast };
}
