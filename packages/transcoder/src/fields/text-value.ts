import { type DescEnum, type DescField, type JsonValue, ScalarType } from '@bufbuild/protobuf';
import { isWrapperDesc } from '@bufbuild/protobuf/wkt';
import { booleans, double, int32, messageForms, numberForms } from './text-form.js';

/**
 * The type of a field, or of one item or value of a repeated or map field. An empty object stands for the type of any JSON
 * value, as of those in a Struct.
 */
export type ValueType = Partial<Pick<DescField, 'enum' | 'message' | 'scalar'>>;

/** The type of the value in a wrapper such as `google.protobuf.StringValue`; any other type as it is. */
export function unwrapped(type: ValueType): ValueType {
  const { message } = type;
  return message !== undefined && isWrapperDesc(message) ? message.fields[0] : type;
}

/** Whether a value of the field, or an item of a repeated field, can be written as text in a URL. */
export function hasTextForm(field: DescField): boolean {
  return field.fieldKind !== 'map' && hasTextValue(field);
}

/** Whether a value of the type can be written so: for a map, the value of a key. */
export function hasTextValue(type: ValueType): boolean {
  const { message } = unwrapped(type);
  return message === undefined || messageForms.has(message.typeName);
}

/**
 * The JSON form of a value that is written as text in a URL: the text itself, but for booleans and the numbers of enums.
 *
 * @returns undefined if the text is not that of a boolean, or of a value of the enum. Whether a type takes any other text is
 *   left to the reader of its JSON form.
 */
export function textValue(type: ValueType, text: string): JsonValue | undefined {
  const { enum: names, scalar } = unwrapped(type);
  if (names !== undefined) return enumValue(names, text);
  return scalar === ScalarType.BOOL ? booleans.get(text) : text;
}

function enumValue(type: DescEnum, text: string): JsonValue | undefined {
  const number = enumNumber(text);
  if (number !== undefined) return number;
  if (text === 'null' && type.typeName === 'google.protobuf.NullValue') return null;
  // With `ignoreUnknown`, the reader would drop an unknown name.
  return type.values.some(({ jsonName, name }) => name === text || jsonName === text) ? text : undefined;
}

function enumNumber(text: string): number | undefined {
  const digits = int32(text);
  return digits === undefined ? undefined : Number(digits);
}

/**
 * The JSON form of a number that is written in JSON, without loss: a string with every digit if the type is an integer.
 *
 * @returns undefined if the type takes no such number, or no JSON value can hold it.
 */
export function numberValue(type: ValueType, literal: string): string | number | undefined {
  const { enum: names, scalar } = unwrapped(type);
  if (names !== undefined) return enumNumber(literal);
  const form = scalar === undefined ? undefined : numberForms.get(scalar);
  // Of the other types, only those of any JSON value take a number, as a double; the readers of the rest refuse it.
  return (form ?? double)(literal);
}
