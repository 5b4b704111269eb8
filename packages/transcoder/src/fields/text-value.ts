import {
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from '@bufbuild/protobuf';
import { isWrapperDesc } from '@bufbuild/protobuf/wkt';
import {
  base64,
  base64Bytes,
  double,
  int32,
  lenientMessageForms,
  messageForms,
  numberForms,
  singlePrecision,
} from './text-form.js';

/** An own member of a JSON object; undefined for inherited names such as `constructor`. */
export function memberOf(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets an own member of a JSON object, even `__proto__`, to which an assignment would give another meaning. */
export function setMember(object: JsonObject, key: string, value: JsonValue): void {
  Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true });
}

/** Whether a JSON value is an object. */
export function isObject(json: JsonValue | undefined): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

/** Whether a value of the field, or an item of a repeated one, can be written as text in a URL. */
export function hasTextForm(field: DescField): boolean {
  return field.fieldKind !== 'map' && hasTextValue(field);
}

/** Like `hasTextForm`, but also for the value of a key in a map. */
export function hasTextValue({ message }: Pick<DescField, 'message'>): boolean {
  return message === undefined || isWrapperDesc(message) || messageForms.has(message.typeName);
}

/**
 * The JSON form of a value of a field, or of an item of a repeated field, that is written as text in a URL.
 *
 * @param lenient whether masks may have names in snake_case.
 * @returns undefined if the text is not that of a value of the field's type. A result may still be invalid for the
 *   type: the ProtoJSON parser decides.
 */
export function textValue(field: DescField, text: string, lenient = false): JsonValue | undefined {
  if (field.enum !== undefined) {
    const number = int32(text);
    if (number !== undefined) return Number(number);
    if (text === 'null' && field.enum.typeName === 'google.protobuf.NullValue') return null;
    // With `ignoreUnknown`, the parser would drop an unknown name.
    return field.enum.values.some(({ jsonName, name }) => name === text || jsonName === text)
      ? text
      : undefined;
  }
  if (field.message !== undefined) return messageText(field.message, text, lenient);
  return scalarText(field.scalar, text);
}

function messageText(message: DescMessage, text: string, lenient: boolean): JsonValue | undefined {
  if (isWrapperDesc(message)) return textValue(message.fields[0], text);
  return (lenient ? lenientMessageForms : messageForms).get(message.typeName)?.(text);
}

function scalarText(scalar: ScalarType, text: string): JsonValue | undefined {
  if (scalar === ScalarType.BOOL) return text === 'true' ? true : text === 'false' ? false : undefined;
  if (scalar === ScalarType.BYTES) return base64(text);
  const form = numberForms.get(scalar);
  return form === undefined ? text : form(text);
}

/**
 * The JSON form of a number literal in JSON text, as the value of a field: a string with every digit if the field takes
 * an integer.
 *
 * @returns undefined if the field takes no such number, or no JSON value can hold it.
 */
export function literalValue(field: DescField | undefined, literal: string): JsonValue | undefined {
  if (field === undefined) return double(literal);
  if (field.enum !== undefined) return int32(literal);
  const { scalar } =
    field.message !== undefined && isWrapperDesc(field.message) ? field.message.fields[0] : field;
  const form = scalar === undefined ? undefined : numberForms.get(scalar);
  return (form ?? double)(literal);
}

/**
 * The value of a scalar field, as reflection takes it, in its JSON form.
 *
 * @returns undefined if ProtoJSON does not allow the text; what is of another kind stays as it is, and reflection refuses it.
 */
export function scalarValue(scalar: ScalarType, json: JsonValue): unknown {
  if (scalar === ScalarType.FLOAT && typeof json === 'number') return singlePrecision(json);
  if (typeof json !== 'string' || scalar === ScalarType.STRING || scalar === ScalarType.BOOL) return json;
  if (scalar === ScalarType.BYTES) return base64Bytes(json);
  const strict = scalarText(scalar, json);
  if (typeof strict !== 'string') return strict;
  // Digits, NaN or an infinity. Of integers that a number cannot hold, reflection takes the digits.
  const number = Number(strict);
  return Number.isInteger(number) && !Number.isSafeInteger(number) ? strict : number;
}
