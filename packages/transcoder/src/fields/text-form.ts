import { ScalarType } from '@bufbuild/protobuf';

/**
 * Turns text into the JSON value that `fromJson` reads without loss. ProtoJSON has the same grammar for text in a JSON
 * string and in a URL.
 *
 * @returns undefined for text that does not follow the grammar, or a number out of its type's bounds. Bounds of messages,
 *   such as the longest duration, are left to `fromJson`.
 */
export type TextForm = (text: string) => string | number | undefined;

/** The booleans, by their text. */
export const booleans: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

/** The text form of 32-bit integers and enum numbers. */
export const int32 = integerForm((value) => BigInt.asIntN(32, value));
const uint32 = integerForm((value) => BigInt.asUintN(32, value));
const int64 = integerForm((value) => BigInt.asIntN(64, value));
const uint64 = integerForm((value) => BigInt.asUintN(64, value));

/** The text forms of numbers. */
export const numberForms: ReadonlyMap<ScalarType, TextForm> = new Map([
  [ScalarType.DOUBLE, double],
  [ScalarType.FLOAT, float],
  [ScalarType.INT32, int32],
  [ScalarType.SINT32, int32],
  [ScalarType.SFIXED32, int32],
  [ScalarType.UINT32, uint32],
  [ScalarType.FIXED32, uint32],
  [ScalarType.INT64, int64],
  [ScalarType.SINT64, int64],
  [ScalarType.SFIXED64, int64],
  [ScalarType.UINT64, uint64],
  [ScalarType.FIXED64, uint64],
]);

// RFC 8259 number: neither hexadecimal nor a leading plus.
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const NOT_FINITE = /^(?:NaN|-?Infinity)$/;

/** The text form of double-precision numbers. */
export function double(text: string): string | number | undefined {
  if (NOT_FINITE.test(text)) return text;
  return NUMBER.test(text) ? ifFinite(Number(text)) : undefined;
}

function float(text: string): string | number | undefined {
  const value = double(text);
  return typeof value === 'number' ? singlePrecision(value) : value;
}

/** The single-precision number that a float is stored as; undefined if that is infinite. */
export function singlePrecision(value: number): number | undefined {
  return ifFinite(Math.fround(value));
}

function ifFinite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}

/** The text form of an integer type. @param cut returns what the bits of the type hold of a value */
function integerForm(cut: (value: bigint) => bigint): TextForm {
  return (text) => {
    const digits = wholeDigits(text);
    const fits = digits !== undefined && cut(BigInt(digits)) === BigInt(digits);
    return fits ? digits : undefined;
  };
}

/** The number of digits of the longest 64-bit integer. */
const MAX_DIGITS = 20;

/**
 * The digits of a whole number, in any form of RFC 8259: `1.5e1` is `15`. Undefined if the number is not whole, or longer
 * than any integer of protobuf: the digits of `1e999999999` would fill the memory.
 */
function wholeDigits(text: string): string | undefined {
  if (!NUMBER.test(text)) return undefined;
  const [mantissa = '', exponent = '0'] = text.split(/[eE]/);
  const [units = '', decimals = ''] = mantissa.split('.');
  const digits = `${units}${decimals}`.replace(/^-?0*/, '');
  if (digits === '') return '0';

  // The number is that of the digits up to the last that is not 0, followed by zeros: fewer than none if it is not whole.
  // The look-behind keeps the search linear in the number of digits.
  const significant = digits.replace(/(?<!0)0+$/, '');
  const powerOfLastDigit = Number(exponent) - decimals.length;
  const zeros = powerOfLastDigit + digits.length - significant.length;
  if (zeros < 0 || significant.length + zeros > MAX_DIGITS) return undefined;
  const sign = text.startsWith('-') ? '-' : '';
  return `${sign}${significant}${'0'.repeat(zeros)}`;
}

const TIME =
  /^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$/;
const DURATION = /^-?[0-9]+(?:\.[0-9]{1,9})?s$/;
// Names in lowerCamelCase, keys of maps, and "*" for all of them (AIP-161).
const MASK = /^(?:(?:[A-Za-z0-9]+|\*)(?:[.,](?:[A-Za-z0-9]+|\*))*)?$/;

const mask = formOfPattern(MASK);

/** The text forms of the well-known messages whose JSON form is a string. */
export const messageForms: ReadonlyMap<string, TextForm> = new Map([
  ['google.protobuf.Timestamp', time],
  ['google.protobuf.Duration', formOfPattern(DURATION)],
  ['google.protobuf.FieldMask', mask],
]);

/** `messageForms`, but masks may also have names in snake_case, as clients of grpc-gateway send them. */
export const lenientMessageForms: ReadonlyMap<string, TextForm> = new Map([
  ...messageForms,
  [
    'google.protobuf.FieldMask',
    (text) => mask(text.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())),
  ],
]);

/** RFC 3339 without leap seconds, which a Timestamp cannot represent. */
function time(text: string): string | undefined {
  const moment = TIME.exec(text)?.[1];
  if (moment === undefined) return undefined;
  // JavaScript turns a day or hour that does not exist into another day or hour, or into an invalid date.
  const date = new Date(`${moment}Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(moment) ? text : undefined;
}

function formOfPattern(pattern: RegExp): TextForm {
  return (text) => (pattern.test(text) ? text : undefined);
}
