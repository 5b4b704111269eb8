import { ScalarType } from '@bufbuild/protobuf';

/**
 * Converts text to the JSON value that `fromJson` reads without loss. ProtoJSON has the same grammar for text in a JSON
 * string and in a URL; text that does not follow it, or exceeds the type's bounds, is undefined.
 */
type TextForm = (text: string) => string | number | undefined;

/** The text form of 32-bit integers and enum numbers. */
export const int32 = whole((value) => BigInt.asIntN(32, value));
const uint32 = whole((value) => BigInt.asUintN(32, value));
const int64 = whole((value) => BigInt.asIntN(64, value));
const uint64 = whole((value) => BigInt.asUintN(64, value));

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

/** The text forms of the well-known messages whose JSON form is a string. */
export const messageForms: ReadonlyMap<string, TextForm> = new Map([
  ['google.protobuf.Timestamp', time],
  ['google.protobuf.Duration', formOfPattern(/^-?[0-9]+(?:\.[0-9]{1,9})?s$/)],
  ['google.protobuf.FieldMask', mask],
]);

/** The same, but masks may also have names in snake_case. */
export const lenientMessageForms: ReadonlyMap<string, TextForm> = new Map([
  ...messageForms,
  [
    'google.protobuf.FieldMask',
    (text) => mask(text.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())),
  ],
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

function whole(wrapped: (value: bigint) => bigint): TextForm {
  return (text) => {
    const digits = wholeDigits(text);
    return digits !== undefined && wrapped(BigInt(digits)) === BigInt(digits) ? digits : undefined;
  };
}

/** The number of digits of the longest 64-bit integer. */
const MAX_DIGITS = 20;

/** The digits of a whole number, in any form of RFC 8259: `1.5e1` is `15`. */
function wholeDigits(text: string): string | undefined {
  if (!NUMBER.test(text)) return undefined;
  const [mantissa = '', exponent = '0'] = text.split(/[eE]/);
  const [units = '', decimals = ''] = mantissa.split('.');
  const digits = `${units}${decimals}`.replace(/^-?0*/, '');
  if (digits === '') return '0';
  const significant = digits.replace(/(?<!0)0+$/, '');
  const zeros = Number(exponent) - decimals.length + digits.length - significant.length;
  if (zeros < 0 || significant.length + zeros > MAX_DIGITS) return undefined;
  return `${text.startsWith('-') ? '-' : ''}${significant}${'0'.repeat(zeros)}`;
}

const BASE64 = /^(?:[A-Za-z0-9+/]*|[A-Za-z0-9_-]*)={0,2}$/;

/** The bytes of base64 by RFC 4648 4 or 5, whose padding may be missing; undefined if there are other characters. */
export function base64Bytes(text: string): Uint8Array | undefined {
  // A regular expression for groups of four would need memory for each repetition.
  if (!BASE64.test(text)) return undefined;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const rest = (text.length - padding) % 4;
  // Node's base64 takes a hundredth of the time of protobuf's, and reads both alphabets.
  return rest !== 1 && (padding === 0 || rest + padding === 4) ? Buffer.from(text, 'base64') : undefined;
}

const TIME =
  /^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$/;

/** RFC 3339 without leap seconds, which a Timestamp cannot represent. */
function time(text: string): string | undefined {
  const moment = TIME.exec(text)?.[1];
  if (moment === undefined) return undefined;
  // JavaScript turns a day or hour that does not exist into another day or hour, or into an invalid date.
  const date = new Date(`${moment}Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(moment) ? text : undefined;
}

// Names in lowerCamelCase, keys of maps, and "*" for all of them (AIP-161).
const MASK = /^(?:(?:[A-Za-z0-9]+|\*)(?:[.,](?:[A-Za-z0-9]+|\*))*)?$/;

function mask(text: string): string | undefined {
  return MASK.test(text) ? text : undefined;
}

function formOfPattern(pattern: RegExp): TextForm {
  return (text) => (pattern.test(text) ? text : undefined);
}
