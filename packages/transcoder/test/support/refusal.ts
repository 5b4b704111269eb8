import { Failure } from '../../src/failures/failure.js';

/** The failure that an action throws. */
export function refusal(action: () => unknown): Failure {
  try {
    action();
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error('Nothing was refused.');
}

/** The names of the invalid fields for which an action is refused. */
export function wrongFields(action: () => unknown): string[] {
  return refusal(action)
    .violations()
    .map(({ field }) => field);
}
