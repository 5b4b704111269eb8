import { type Engine, engines } from './engines.js';
import { TOPOLOGIES, type Topology } from './service.js';

/** One way to run the service. */
interface Setup {
  /** For test titles. */
  readonly name: string;
  readonly needs: Engine['needs'];
  readonly engine: Engine;
  readonly topology: Topology;
}

const [embedded, ...servers] = engines;

function setup(engine: Engine, topology: Topology): Setup {
  return { name: `${engine.name}, gateway ${topology}`, needs: engine.needs, engine, topology };
}

/** Every topology and every engine, but not every combination: engines do not depend on the topology. */
export const setups: readonly Setup[] = [
  ...TOPOLOGIES.map((topology) => setup(embedded, topology)),
  ...servers.map((engine) => setup(engine, 'over a channel')),
];
