import type { FuzzCase, Outcome } from './world.js';

/** The time limit of a case, in milliseconds: far longer than any case takes, even on a busy machine. */
export const CASE_LIMIT_MS = 30_000;

/** Sends a case and returns its outcome, also when it fails or has to be aborted. */
export async function outcomeOf(fuzzCase: FuzzCase): Promise<Outcome> {
  const limit = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<Outcome>((resolve) => {
    timer = setTimeout(() => {
      limit.abort();
      resolve(failed(`The case did not end within ${CASE_LIMIT_MS / 1_000} s.`));
    }, CASE_LIMIT_MS);
  });
  try {
    return await Promise.race([fuzzCase.send(limit.signal), tooLong]);
  } catch (error) {
    return failed(
      `The response could not be read: ${error instanceof Error ? String(error.stack) : String(error)}`,
    );
  } finally {
    clearTimeout(timer);
  }
}

function failed(problem: string): Outcome {
  return { answers: [], problems: [problem] };
}
