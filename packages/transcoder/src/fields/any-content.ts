import type { DescMessage, Registry } from '@bufbuild/protobuf';
import { base64Bytes } from './base64.js';
import { memberOf, type SentObject } from './json-value.js';

/** Whether a message is `google.protobuf.Any`. */
export function isAny(message: DescMessage): boolean {
  return message.typeName === 'google.protobuf.Any';
}

/** The type of the message in an Any in its JSON form; undefined if it is unknown. */
export function typeInAny(registry: Registry, any: SentObject): DescMessage | undefined {
  const typeUrl = memberOf(any, '@type');
  return typeof typeUrl === 'string' ? typeOfUrl(registry, typeUrl) : undefined;
}

/** The type that the URL of an Any names; undefined if it is unknown. */
export function typeOfUrl(registry: Registry, typeUrl: string): DescMessage | undefined {
  return registry.getMessage(typeUrl.slice(typeUrl.lastIndexOf('/') + 1));
}

/**
 * The content of an Any of an unknown type in the form that responses give it: base64 as "value" beside "@type".
 *
 * @param any one whose type `typeInAny` does not know.
 * @returns undefined for anything else.
 */
export function bytesOfAny(any: SentObject): Uint8Array | undefined {
  const { '@type': type, value, ...others } = any;
  const namesType = typeof type === 'string' && /[^/]$/.test(type);
  const isAlone = Object.keys(others).length === 0;
  return namesType && isAlone && typeof value === 'string' ? base64Bytes(value) : undefined;
}
