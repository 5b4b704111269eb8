import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tokenFor } from '../test/support/service.js';
import { Child } from './child.js';
import type { Measured, Sample } from './figures.js';
import type { Load, LoadResult } from './load/load.js';
import type { Machine } from './machine.js';
import type { Scale } from './scale.js';
import type { Scenario } from './scenarios.js';
import type { Target, TargetName } from './testbed.js';

/** Number of callers: the most requests in flight. */
export const CALLERS = 32;
/** Pause after each run, in which the database writes what the run left behind. */
const SETTLE_MS = 50;
/** How often a round is run while something disturbs the machine. */
const MOST_TRIES = 3;
/** Long enough to request every route once, in milliseconds. */
const FILL_MS = 120_000;
const TOKEN_SECONDS = 24 * 60 * 60;
const LOADER = resolve(import.meta.dirname, 'load/loader.js');

/** Runs scenarios against the servers under test, one at a time. */
export class Rounds {
  readonly #exp = Math.floor(Date.now() / 1_000) + TOKEN_SECONDS;
  /** The first route of each target that has not been requested yet, for the pick `once`. */
  readonly #next = new Map<TargetName, number>();
  readonly #scale: Scale;
  readonly #testbed: ReadonlyMap<TargetName, Target>;
  readonly #databasePid: number | undefined;

  constructor(scale: Scale, testbed: ReadonlyMap<TargetName, Target>, databasePid: number | undefined) {
    this.#scale = scale;
    this.#testbed = testbed;
    this.#databasePid = databasePid;
  }

  /**
   * Runs all rounds of a group, then those of the next, so that compared scenarios run within seconds of each other and no
   * server is idle for long. Each round runs every scenario once. Every other round runs in reverse order, so that the
   * work that a scenario leaves behind, such as dirty pages, affects both its neighbours.
   *
   * @param machine is sampled before and after each round, which is repeated if something disturbed it
   */
  async run(
    groups: readonly (readonly Scenario[])[],
    progress: (line: string) => void,
    machine?: Machine,
  ): Promise<Measured[]> {
    const { rounds, warmUpRounds } = this.#scale;
    const samples = new Map<Scenario, Sample[]>(groups.flat().map((scenario) => [scenario, []]));
    for (const group of groups) {
      for (let round = 1 - warmUpRounds; round <= rounds; round++) {
        const order = round % 2 === 0 ? group.toReversed() : group;
        const name = round < 1 ? 'warm-up' : `round ${round} of ${rounds}`;
        const measured = await this.#round(order, name, progress, machine);
        if (round >= 1) for (const [scenario, sample] of measured) samples.get(scenario)?.push(sample);
      }
    }
    return [...samples].map(([{ name }, of]) => ({ name, samples: of }));
  }

  /** Runs every scenario once, and again if the machine was disturbed. */
  async #round(
    scenarios: readonly Scenario[],
    name: string,
    progress: (line: string) => void,
    machine: Machine | undefined,
  ): Promise<Map<Scenario, Sample>> {
    for (let tries = 1; ; tries++) {
      const samples = new Map<Scenario, Sample>();
      const before = machine?.sample() ?? true;
      for (const scenario of scenarios) {
        progress(`${scenario.name}: ${name}`);
        samples.set(scenario, await this.#sample(scenario));
        await sleep(SETTLE_MS);
      }
      const after = machine?.sample() ?? true;
      if ((before && after) || tries === MOST_TRIES) return samples;
      progress(`something disturbed the machine: ${name} is repeated`);
    }
  }

  /** Runs the load generator once for a scenario. @param change overrides parts of the scenario's load */
  async measure(scenario: Scenario, change: Partial<Load> = {}): Promise<LoadResult> {
    const load = { ...this.#load(scenario), ...change };
    const result = (await new Child([LOADER, JSON.stringify(load)]).message('measured')) as LoadResult;
    this.#next.set(scenario.target, result.next);
    return result;
  }

  /** Requests every route of a scenario's target once, so that the target caches all of them. */
  async fillCache(scenario: Scenario): Promise<void> {
    await this.measure(scenario, { pick: 'once', from: 0, warmUpMs: 0, durationMs: FILL_MS });
  }

  async #sample(scenario: Scenario): Promise<Sample> {
    return (await this.measure(scenario)).sample;
  }

  #load({ target: targetName, wire, operation, pick }: Scenario): Load {
    const target = this.#testbed.get(targetName);
    if (target === undefined) throw new Error(`There is no target "${targetName}".`);
    const address = target[wire];
    if (address === undefined) throw new Error(`${targetName} does not speak ${wire}.`);
    return {
      wire,
      operation,
      pick,
      target: address,
      // For a while, creates with a key cost more for a caller who has repeated one.
      token: tokenFor({ sub: operation, exp: this.#exp }),
      stored: target.routes,
      from: this.#next.get(targetName) ?? 0,
      callers: CALLERS,
      warmUpMs: this.#scale.warmUpMs,
      durationMs: this.#scale.durationMs,
      serverPids: target.pids,
      ...(this.#databasePid === undefined ? {} : { databasePid: this.#databasePid }),
    };
  }
}
