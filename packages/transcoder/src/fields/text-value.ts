import { ScalarType, type DescField, type DescMessage, type JsonValue } from '@bufbuild/protobuf';
import { isWrapperDesc } from '@bufbuild/protobuf/wkt';

// RFC 8259 number: neither hexadecimal nor a leading plus.
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const NOT_FINITE = /^(?:NaN|-?Infinity)$/;
const ENUM_NUMBER = /^-?[0-9]{1,10}$/;
const DURATION = /^-?[0-9]+(?:\.[0-9]{1,9})?s$/;

/** The well-known messages whose JSON form is a string. */
const textMessages: ReadonlyMap<string, RegExp> = new Map([
  ['google.protobuf.Timestamp', /^/],
  ['google.protobuf.Duration', DURATION],
  ['google.protobuf.FieldMask', /^/],
]);

/** Whether a value of the field, or an item of a repeated one, can be written as text in a URL. */
export function hasTextForm(field: DescField): boolean {
  if (field.fieldKind === 'map') return false;
  return (
    field.message === undefined || isWrapperDesc(field.message) || textMessages.has(field.message.typeName)
  );
}

/**
 * The JSON form of a field's value, or of an item of a repeated field, that stands as text in a URL.
 *
 * @returns undefined where no value of the field's type is written like this. A result may still be out
 * of the type's bounds: that is for the ProtoJSON parser to say.
 */
export function textValue(field: DescField, text: string): JsonValue | undefined {
  if (field.enum !== undefined) return ENUM_NUMBER.test(text) ? Number(text) : text;
  if (field.message !== undefined) return messageText(field.message, text);
  return scalarText(field.scalar, text);
}

function messageText(message: DescMessage, text: string): JsonValue | undefined {
  if (isWrapperDesc(message)) return textValue(message.fields[0], text);
  return textMessages.get(message.typeName)?.test(text) ? text : undefined;
}

function scalarText(scalar: ScalarType, text: string): JsonValue | undefined {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return text;
    case ScalarType.BOOL:
      return text === 'true' ? true : text === 'false' ? false : undefined;
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return NUMBER.test(text) || NOT_FINITE.test(text) ? text : undefined;
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return NUMBER.test(text) ? text : undefined;
  }
}
