import { describe, inject, it, type TestOptions } from 'vitest';
import type { Need } from './need.js';
import type { ProgramName } from './programs.js';

declare module 'vitest' {
  interface TaskMeta {
    /** What is missing here, so that the test is left out. */
    missing?: Need;
  }
}

/** Something that tests run on, such as an engine. */
interface Ground {
  /** For titles. */
  readonly name: string;
  readonly needs: readonly Need[];
}

/**
 * The options of a test, or of a `describe`, that needs something which npm does not bring: where that is missing, it is
 * left out, and the last line of the run counts it.
 *
 * @throws Error for what vitest.config.ts does not name among the needs of the project
 */
export function needs(...all: readonly Need[]): TestOptions {
  for (const need of all) {
    if (!inject('needs').includes(need))
      throw new Error(`${need} is not in this project's needs: vitest.config.ts`);
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

/** As `describe.each`, for engines and what stands on them: on one that is missing here the tests are left out. */
export function describeOn<T extends Ground>(grounds: readonly T[]) {
  return (title: string, facts: (ground: T) => void): void => {
    for (const ground of grounds) describe.each([ground])(title, needs(...ground.needs), facts);
  };
}

/** As `it.each`, likewise. @param timeoutMs default: the project's */
export function itOn<T extends Ground>(grounds: readonly T[]) {
  return (title: string, fact: (ground: T) => Promise<void>, timeoutMs?: number): void => {
    for (const ground of grounds) {
      const timeout = timeoutMs === undefined ? {} : { timeout: timeoutMs };
      it.each([ground])(title, { ...needs(...ground.needs), ...timeout }, fact);
    }
  };
}
