import { type DescField, type JsonValue, ScalarType } from '@bufbuild/protobuf';
import { isWrapperDesc } from '@bufbuild/protobuf/wkt';
import { base64Bytes, double, int32, messageForms, numberForms, singlePrecision } from './text-form.js';

/** The type of a field, or of one item or value of a repeated or map field; without members, that of any JSON value. */
export type ValueType = Partial<Pick<DescField, 'enum' | 'message' | 'scalar'>>;

/** Whether a value of the field, or an item of a repeated one, can be written as text in a URL. */
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

/**
 * The value of a scalar field, as reflection takes it, in its JSON form.
 *
 * @returns undefined if ProtoJSON does not allow the text; what is of another kind stays as it is, and reflection refuses it.
 */
export function scalarValue(scalar: ScalarType, json: unknown): unknown {
  if (scalar === ScalarType.FLOAT && typeof json === 'number') return singlePrecision(json);
  if (typeof json !== 'string' || scalar === ScalarType.STRING || scalar === ScalarType.BOOL) return json;
  if (scalar === ScalarType.BYTES) return base64Bytes(json);
  const strict = numberForms.get(scalar)?.(json);
  if (typeof strict !== 'string') return strict;
  // Digits, NaN or an infinity. Of integers that a number cannot hold, reflection takes the digits.
  const number = Number(strict);
  return Number.isInteger(number) && !Number.isSafeInteger(number) ? strict : number;
}
