import type { DescField } from '@bufbuild/protobuf';
import { allowedValue, quote } from '../fields/allowed-value.js';

/** The description of the violation of a text in path or query that cannot be decoded. */
export const NOT_UTF8 = 'Must be percent-encoded UTF-8; got an invalid escape or character.';

/** The description of the violation of a text that is no value of its field. */
export function notAllowed(field: DescField, text: string): string {
  return `Must be ${allowedValue(field)}; got ${quote(text)}.`;
}

/** The path of a field in proto names, for example `book.title`. */
export function pathOf(fields: readonly DescField[]): string {
  return fields.map(({ name }) => name).join('.');
}
