import type { DescMessage, JsonObject, JsonValue, Registry } from '@bufbuild/protobuf';
import { hasCustomJsonRepresentation } from '@bufbuild/protobuf/wkt';
import { base64Bytes } from './text-form.js';
import { isObject, memberOf } from './text-value.js';

/** The message in a `google.protobuf.Any`. */
interface AnyContent {
  readonly message: DescMessage;
  /** Its JSON form; undefined if the Any does not have the form that ProtoJSON defines. */
  readonly json: JsonValue | undefined;
}

/** Whether a message is `google.protobuf.Any`. */
export function isAny(message: DescMessage): boolean {
  return message.typeName === 'google.protobuf.Any';
}

/** The type of the message in an Any in its JSON form; undefined if it is unknown. */
export function typeInAny(registry: Registry, any: JsonObject): DescMessage | undefined {
  const typeUrl = memberOf(any, '@type');
  return typeof typeUrl === 'string' ? typeOfUrl(registry, typeUrl) : undefined;
}

/** The type that the URL of an Any names; undefined if it is unknown. */
export function typeOfUrl(registry: Registry, typeUrl: string): DescMessage | undefined {
  return registry.getMessage(typeUrl.slice(typeUrl.lastIndexOf('/') + 1));
}

/**
 * The message in an Any in its JSON form. This form holds the fields of the message beside "@type" or, for a message
 * whose JSON form is not an object of its fields, the whole message as "value". An Empty may have either.
 *
 * @returns undefined if the type is unknown.
 */
export function contentOfAny(registry: Registry, any: JsonObject): AnyContent | undefined {
  const message = typeInAny(registry, any);
  if (message === undefined) return undefined;
  const fields = Object.fromEntries(Object.entries(any).filter(([key]) => key !== '@type'));
  const value = Object.keys(fields).every((key) => key === 'value') ? memberOf(fields, 'value') : undefined;
  if (hasCustomJsonRepresentation(message)) return { message, json: value };
  const isWrapped = message.typeName === 'google.protobuf.Empty' && isObject(value);
  return { message, json: isWrapped ? value : fields };
}

/**
 * The content of an Any of an unknown type in the form that responses give it: base64 as "value" beside "@type".
 *
 * @returns undefined for anything else.
 */
export function bytesOfAny(any: JsonObject): Uint8Array | undefined {
  const { '@type': type, value, ...others } = any;
  const isForm = typeof type === 'string' && /[^/]$/.test(type) && Object.keys(others).length === 0;
  return isForm && typeof value === 'string' ? base64Bytes(value) : undefined;
}
