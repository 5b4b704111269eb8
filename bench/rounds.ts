import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tokenFor } from '../test/support/service.js';
import { Child } from './child.js';
import type { Measured, Sample } from './figures.js';
import { runH2load } from './load/h2load.js';
import type { Load, LoadResult } from './load/load.js';
import type { Scale } from './scale.js';
import type { Scenario } from './scenarios.js';
import type { Target, TargetName } from './testbed.js';

/** Requests under way at once. */
export const CALLERS = 32;
/** Pause after each run, in which the database writes what the last one left. */
const SETTLE_MS = 50;
/** Long enough to ask once for every route, in milliseconds. */
const FILL_MS = 120_000;
const TOKEN_SECONDS = 24 * 60 * 60;
const LOADER = resolve(import.meta.dirname, 'load/loader.js');

/** Runs scenarios against the servers under test, one at a time. */
export class Rounds {
  readonly #token = tokenFor({ exp: Math.floor(Date.now() / 1_000) + TOKEN_SECONDS });
  /** The first route of each target that no scenario has asked for, where they ask for none twice. */
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
   * All rounds of a group and then those of the next, so that scenarios that are compared run within seconds of each
   * other and no server rests for long. In a round each scenario has one turn; every other round goes backwards, so that
   * the burden that a scenario leaves, such as pages to be written, falls on both its neighbours.
   */
  async run(groups: readonly (readonly Scenario[])[], progress: (line: string) => void): Promise<Measured[]> {
    const { rounds } = this.#scale;
    const samples = new Map<Scenario, Sample[]>(groups.flat().map((scenario) => [scenario, []]));
    for (const group of groups) {
      for (let round = 1; round <= rounds; round++) {
        for (const scenario of round % 2 === 1 ? group : group.toReversed()) {
          progress(`${scenario.name}: round ${round} of ${rounds}`);
          samples.get(scenario)?.push(await this.#sample(scenario));
          await sleep(SETTLE_MS);
        }
      }
    }
    return [...samples].map(([{ name }, of]) => ({ name, samples: of }));
  }

  /** Runs the load generator once for a scenario, with another duration or rate than the scenario's, if given. */
  async measure(scenario: Scenario, change: Partial<Load> = {}): Promise<LoadResult> {
    const load = { ...this.#load(scenario), ...change };
    const result = (await new Child([LOADER, JSON.stringify(load)]).message('measured')) as LoadResult;
    this.#next.set(scenario.target, result.next);
    return result;
  }

  /** Lets a scenario ask once for every route, so that its server has it in memory. */
  async fillCache(scenario: Scenario): Promise<void> {
    await this.measure(scenario, { pick: 'once', from: 0, warmUpMs: 0, durationMs: FILL_MS });
  }

  async #sample(scenario: Scenario): Promise<Sample> {
    if (scenario.tool === 'h2load') return { rate: await runH2load(this.#load(scenario)) };
    return (await this.measure(scenario)).sample;
  }

  #load({ target: targetName, wire, operation, pick, rate }: Scenario): Load {
    const target = this.#testbed.get(targetName);
    if (target === undefined) throw new Error(`Nobody is called "${targetName}".`);
    const address = target[wire];
    if (address === undefined) throw new Error(`${targetName} does not speak ${wire}.`);
    return {
      wire,
      operation,
      pick,
      target: address,
      token: this.#token,
      stored: target.routes,
      from: this.#next.get(targetName) ?? 0,
      callers: CALLERS,
      warmUpMs: this.#scale.warmUpMs,
      durationMs: this.#scale.durationMs,
      serverPids: target.pids,
      ...(rate === undefined ? {} : { rate }),
      ...(this.#databasePid === undefined ? {} : { databasePid: this.#databasePid }),
    };
  }
}
