import { HttpFailure, type FieldViolation } from '../../src/failures/failure.js';

/** The failure that an action throws. */
export function refusal(action: () => unknown): HttpFailure {
  try {
    action();
  } catch (error) {
    if (error instanceof HttpFailure) return error;
    throw error;
  }
  throw new Error('Nothing was refused.');
}

/** The form of a violation's description: what is allowed, then what came. */
const DESCRIPTION = /^Must [^]+; got [^]+\.$/;

/** The field of a violation. @throws Error if its description has another form than all others */
export function wrongField({ field, description }: FieldViolation): string {
  if (!DESCRIPTION.test(description)) throw new Error(`Not what is allowed, then what came: ${description}`);
  return field;
}

/** The names of the invalid fields for which an action is refused. */
export function wrongFields(action: () => unknown): string[] {
  return refusal(action).violations().map(wrongField);
}
