import type { DescField } from '@bufbuild/protobuf';
import type { FieldViolation } from '../failures/failure.js';
import { fieldsByName } from '../fields/message-fields.js';
import type { Binding } from '../template/binding.js';

/**
 * The violations of a body, with a hint for a usual mistake: if the body is the field `book` alone, a client may still send
 * `{"book": {…}}`, as in a gRPC request. Then the violation of `book.book` explains what the body is.
 */
export function* withNestedBodyHint(
  { body }: Binding,
  violations: Iterable<FieldViolation>,
): Generator<FieldViolation> {
  if (typeof body !== 'object' || body.fieldKind !== 'message') {
    yield* violations;
    return;
  }

  const names = namesOfNestedBody(body);
  const hint = `The body is the ${body.name} itself; send the value of this field alone.`;
  for (const violation of violations) {
    const { field, description } = violation;
    yield names.includes(field) ? { field, description: `${description} ${hint}` } : violation;
  }
}

/**
 * How violations name a body that is nested in itself: `book.book`, where the second name may be the JSON name. None if the
 * message of the body really has a field `book`.
 */
function namesOfNestedBody({
  name,
  jsonName,
  message,
}: Extract<DescField, { fieldKind: 'message' }>): string[] {
  return [name, jsonName].filter((key) => !fieldsByName(message).has(key)).map((key) => `${name}.${key}`);
}
