import { type Engine, engines } from './engines.js';
import { TOPOLOGIES, type Topology } from './service.js';

/** One way to run the service. */
export interface Setup {
  /** For titles. */
  readonly name: string;
  readonly needs: Engine['needs'];
  readonly engine: Engine;
  readonly topology: Topology;
}

/** Every engine with every way for the gateway to reach the gRPC server. */
export const setups: readonly Setup[] = engines.flatMap((engine) =>
  TOPOLOGIES.map((topology) => ({
    name: `${engine.name}, gateway ${topology}`,
    needs: engine.needs,
    engine,
    topology,
  })),
);
