import { describe, inject, it, type TestOptions } from 'vitest';
import type { Need, ProgramName } from './programs.js';

declare module 'vitest' {
  interface TaskMeta {
    /** The missing need because of which the test is skipped. */
    missing?: Need;
  }
}

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
  const missing = all.find((need) => inject('missing')[need] !== undefined);
  return missing === undefined ? {} : { skip: true, meta: { missing } };
}

/** The path of a program, for a test that {@link needs} it. */
export function programPath(name: ProgramName): string {
  const path = inject('programs')[name];
  if (path === undefined) throw new Error(`${name} is missing: the test must say that it needs it.`);
  return path;
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
