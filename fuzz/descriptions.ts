/** The form of a violation's description: what is allowed, then what came. */
const DESCRIPTION = /^Must [^]+; got [^]+\.$/;
/** The longest description, in characters: what came is cut, however much a client sends. */
const DESCRIPTION_MAX = 1_000;

interface Detail {
  readonly fieldViolations?: readonly { readonly field: string; readonly description: string }[];
}

/** Returns the violations in the details of a failure whose descriptions have another form, or are too long. */
export function misdescribed(details: unknown): string[] {
  return (details as readonly Detail[])
    .flatMap(({ fieldViolations = [] }) => fieldViolations)
    .filter(({ description }) => !DESCRIPTION.test(description) || description.length > DESCRIPTION_MAX)
    .map(({ field, description }) => `The description of ${field} has not the agreed form: ${description}`);
}
