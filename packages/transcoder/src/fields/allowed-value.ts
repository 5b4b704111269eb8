import { ScalarType } from '@bufbuild/protobuf';
import { isAny } from './any-content.js';
import { isLongNumber, isObject, type SentJson } from './json-value.js';
import { hasTextValue, unwrapped, type ValueType } from './text-value.js';
import { shorten } from './message-fields.js';
import { printable } from '../printable.js';
import { numberForms } from './text-form.js';

/** The values that ProtoJSON allows for each scalar type, as the end of a sentence. */
const scalars = {
  [ScalarType.DOUBLE]: 'a number within double precision',
  [ScalarType.FLOAT]: 'a number within single precision',
  [ScalarType.INT32]: 'a whole number from -2147483648 to 2147483647',
  [ScalarType.SINT32]: 'a whole number from -2147483648 to 2147483647',
  [ScalarType.SFIXED32]: 'a whole number from -2147483648 to 2147483647',
  [ScalarType.UINT32]: 'a whole number from 0 to 4294967295',
  [ScalarType.FIXED32]: 'a whole number from 0 to 4294967295',
  [ScalarType.INT64]: 'a whole number from -9223372036854775808 to 9223372036854775807',
  [ScalarType.SINT64]: 'a whole number from -9223372036854775808 to 9223372036854775807',
  [ScalarType.SFIXED64]: 'a whole number from -9223372036854775808 to 9223372036854775807',
  [ScalarType.UINT64]: 'a whole number from 0 to 18446744073709551615',
  [ScalarType.FIXED64]: 'a whole number from 0 to 18446744073709551615',
  [ScalarType.BOOL]: 'true or false',
  [ScalarType.STRING]: 'a string',
  [ScalarType.BYTES]: 'a string in base64',
} as const satisfies Record<ScalarType, string>;

/** The well-known types whose JSON form is not an object of their fields. */
const wellKnown: ReadonlyMap<string, string> = new Map([
  [
    'google.protobuf.Any',
    'an object with "@type" of a known message and its JSON form, or of another one and its bytes in base64 as "value"',
  ],
  ['google.protobuf.Timestamp', 'a time by RFC 3339 from year 1 to 9999'],
  ['google.protobuf.Duration', 'a number of seconds with the suffix "s"'],
  ['google.protobuf.FieldMask', 'a comma-separated list of field paths in lowerCamelCase'],
  ['google.protobuf.Struct', 'an object'],
  ['google.protobuf.ListValue', 'an array'],
  ['google.protobuf.Value', 'a JSON value whose numbers are within double precision'],
]);

/** The allowed values of a type, as the end of a sentence. */
export function allowedValue(type: ValueType): string {
  // A value of no field (`ANYTHING`) is refused only if it is a number that no double holds.
  const { enum: names, message, scalar = ScalarType.DOUBLE } = unwrapped(type);
  if (names !== undefined) return `one of ${names.values.map(({ name }) => name).join(', ')}`;
  if (message !== undefined) return wellKnown.get(message.typeName) ?? 'an object';
  return allowedScalar(scalar);
}

/** The allowed JSON forms of a scalar. */
export function allowedScalar(scalar: ScalarType): string {
  return scalars[scalar];
}

/** Words for a JSON value that is not allowed: the value if another of its kind would be allowed, otherwise its kind. */
export function refusedValue(type: ValueType, json: SentJson): string {
  const { enum: names, message, scalar } = unwrapped(type);
  const takesNumbers = names !== undefined || (scalar !== undefined && numberForms.has(scalar));
  if (typeof json === 'number' && takesNumbers) return String(json);
  if (isLongNumber(json) && (takesNumbers || !Number.isFinite(Number(json.text)))) return shorten(json.text);
  if (typeof json === 'string' && hasTextValue({ message }) && scalar !== ScalarType.BOOL) return quote(json);
  return message !== undefined && isAny(message) && isObject(json) ? 'another object' : kindOf(json);
}

/** The kind of a JSON value, with its article. */
export function kindOf(json: SentJson): string {
  if (json === null) return 'null';
  if (Array.isArray(json)) return 'an array';
  if (isLongNumber(json)) return 'a number';
  return typeof json === 'object' ? 'an object' : `a ${typeof json}`;
}

/**
 * Text that a client sent, in quotation marks, cut to the maximum length that a response repeats, with invisible
 * characters escaped.
 */
export function quote(text: string): string {
  return `"${printable(shorten(text).replace(/["\\]/g, '\\$&'))}"`;
}
