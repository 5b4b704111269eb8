import type { FuzzCase, Outcome } from './world.js';

/** Every case ends long before this, even on a busy machine, in milliseconds. */
export const CASE_LIMIT_MS = 30_000;

/** Sends a case and returns how it ended, even if it failed or had to be aborted. */
export async function outcomeOf(fuzzCase: FuzzCase): Promise<Outcome> {
  const limit = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<Outcome>((resolve) => {
    timer = setTimeout(() => {
      limit.abort();
      resolve(failed(`It did not end within ${CASE_LIMIT_MS / 1_000} s.`));
    }, CASE_LIMIT_MS);
  });
  try {
    return await Promise.race([fuzzCase.send(limit.signal), tooLong]);
  } catch (error) {
    return failed(
      `The answer could not be read: ${error instanceof Error ? String(error.stack) : String(error)}`,
    );
  } finally {
    clearTimeout(timer);
  }
}

function failed(problem: string): Outcome {
  return { answers: [], problems: [problem] };
}
