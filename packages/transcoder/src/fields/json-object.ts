import type { JsonObject, JsonValue } from '@bufbuild/protobuf';

/** An own member of a JSON object; undefined for inherited names such as `constructor`. */
export function memberOf(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Whether a JSON value is an object. */
export function isObject(json: JsonValue | undefined): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}
