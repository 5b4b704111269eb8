import { describe, inject, it, type TestOptions } from 'vitest';
import type { GaleraPrograms } from './galera-programs.js';
import type { Supplies } from './global-setup.js';
import type { Need, ProgramName } from './programs.js';
import { fetchSupply } from './supply.js';

declare module 'vitest' {
  interface TaskMeta {
    /** The missing need because of which the test is skipped. */
    missing?: Need;
  }
}

/** What this tier needs, as far as it is there: the first test file that imports this module has it started. */
export const supplies = (await fetchSupply('supplies')) as Supplies;

/** What tests run on, such as an engine. */
interface Ground {
  /** For test titles. */
  readonly name: string;
  readonly needs: readonly Need[];
}

/**
 * The options of a test or `describe` that needs something which npm does not install. If a need is missing, its tests
 * are skipped, and the last line of the run counts them.
 *
 * @throws Error if vitest.config.ts does not declare the need for this tier
 */
export function needs(...all: readonly Need[]): TestOptions {
  for (const need of all) {
    if (!inject('needs').includes(need))
      throw new Error(`${need} is not in this tier's needs: vitest.config.ts`);
  }
  const missing = all.find((need) => supplies.missing[need] !== undefined);
  return missing === undefined ? {} : { skip: true, meta: { missing } };
}

/** The path of a program, for a test that {@link needs} it. */
export function programPath(name: ProgramName): string {
  const path = supplies.programs[name];
  if (path === undefined) throw new Error(`${name} is missing: the test must say that it needs it.`);
  return path;
}

/** The programs of a Galera cluster, for a test that {@link needs} them. */
export function suppliedGalera(): GaleraPrograms {
  if (supplies.galera === undefined)
    throw new Error('Galera is missing: the test must say that it needs it.');
  return supplies.galera;
}

/** Like `describe.each`, for engines and setups. The tests are skipped on those that are missing. */
export function describeOn<T extends Ground>(grounds: readonly T[]) {
  return (title: string, facts: (ground: T) => void): void => {
    for (const ground of grounds) describe.each([ground])(title, needs(...ground.needs), facts);
  };
}

/** Like `it.each`, for engines and setups. @param timeoutMs default: the tier's timeout */
export function itOn<T extends Ground>(grounds: readonly T[]) {
  return (title: string, fact: (ground: T) => Promise<void>, timeoutMs?: number): void => {
    for (const ground of grounds) {
      const timeout = timeoutMs === undefined ? {} : { timeout: timeoutMs };
      it.each([ground])(title, { ...needs(...ground.needs), ...timeout }, fact);
    }
  };
}
