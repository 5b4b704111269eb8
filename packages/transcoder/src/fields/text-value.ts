import { type DescField, type JsonValue, ScalarType } from '@bufbuild/protobuf';
import { isWrapperDesc } from '@bufbuild/protobuf/wkt';
import { base64Bytes, double, int32, messageForms, numberForms, singlePrecision } from './text-form.js';

/** The type of a field, or of one item or value of a repeated or map field; without members, that of any JSON value. */
export type ValueType = Partial<Pick<DescField, 'enum' | 'message' | 'scalar'>>;

/** Whether a value of the field, or an item of a repeated field, can be written as text in a URL. */
export function hasTextForm(field: DescField): boolean {
  return field.fieldKind !== 'map' && hasTextValue(field);
}

/** Like `hasTextForm`, but also for the value of a key in a map. */
export function hasTextValue({ message }: Pick<ValueType, 'message'>): boolean {
  return message === undefined || isWrapperDesc(message) || messageForms.has(message.typeName);
}

/**
 * The JSON form of a value that is written as text in a URL: the text itself, but for booleans and the numbers of enums.
 *
 * @returns undefined if the text is not that of a boolean, or of a value of the enum. Whether a type takes any other text is
 *   left to the reader of its JSON form.
 */
export function textValue({ enum: type, message, scalar }: ValueType, text: string): JsonValue | undefined {
  if (message !== undefined && isWrapperDesc(message)) return textValue(message.fields[0], text);
  if (scalar === ScalarType.BOOL) return text === 'true' || (text === 'false' ? false : undefined);
  if (type === undefined) return text;
  const number = int32(text);
  if (number !== undefined) return Number(number);
  if (text === 'null' && type.typeName === 'google.protobuf.NullValue') return null;
  // With `ignoreUnknown`, the reader would drop an unknown name.
  return type.values.some(({ jsonName, name }) => name === text || jsonName === text) ? text : undefined;
}

/**
 * The JSON form of a number that is written in JSON, without loss: a string with every digit if the type is an integer.
 *
 * @returns undefined if the type takes no such number, or no JSON value can hold it.
 */
export function numberValue(type: ValueType, literal: string): string | number | undefined {
  if (type.enum !== undefined) return int32(literal) && Number(literal);
  const { scalar } =
    type.message !== undefined && isWrapperDesc(type.message) ? type.message.fields[0] : type;
  const form = scalar === undefined ? undefined : numberForms.get(scalar);
  return (form ?? double)(literal);
}

/** The value of a scalar in its JSON form, as reflection takes it; undefined if ProtoJSON does not allow that form. */
export function scalarValue(scalar: ScalarType, json: unknown): unknown {
  if (scalar === ScalarType.STRING) return typeof json === 'string' ? json : undefined;
  if (scalar === ScalarType.BOOL) return typeof json === 'boolean' ? json : undefined;
  if (typeof json === 'number') return numberIn(scalar, json);
  if (typeof json !== 'string') return undefined;
  if (scalar === ScalarType.BYTES) return base64Bytes(json);
  const strict = numberForms.get(scalar)?.(json);
  if (typeof strict !== 'string') return strict;
  // Digits, NaN or an infinity. Of integers that a number cannot hold, reflection takes the digits.
  const number = Number(strict);
  return Number.isInteger(number) && !Number.isSafeInteger(number) ? strict : number;
}

/** The value of a number in JSON; undefined if the scalar takes no such number. */
function numberIn(scalar: ScalarType, json: number): number | undefined {
  if (scalar === ScalarType.DOUBLE) return json;
  if (scalar === ScalarType.FLOAT) return singlePrecision(json);
  const [least, most] = BOUNDS.get(scalar) ?? [0, -1];
  return Number.isInteger(json) && json >= least && json <= most ? json : undefined;
}

const OF_INT32 = [-(2 ** 31), 2 ** 31 - 1] as const;
const OF_UINT32 = [0, 2 ** 32 - 1] as const;
/** Of the numbers that JavaScript holds. */
const OF_INT64 = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER] as const;
const OF_UINT64 = [0, Number.MAX_SAFE_INTEGER] as const;
const BOUNDS: ReadonlyMap<ScalarType, readonly [least: number, most: number]> = new Map([
  [ScalarType.INT32, OF_INT32],
  [ScalarType.SINT32, OF_INT32],
  [ScalarType.SFIXED32, OF_INT32],
  [ScalarType.UINT32, OF_UINT32],
  [ScalarType.FIXED32, OF_UINT32],
  [ScalarType.INT64, OF_INT64],
  [ScalarType.SINT64, OF_INT64],
  [ScalarType.SFIXED64, OF_INT64],
  [ScalarType.UINT64, OF_UINT64],
  [ScalarType.FIXED64, OF_UINT64],
]);
