import type { JsonObject, JsonValue } from '@bufbuild/protobuf';

/** A member of a JSON object; undefined where it has none of its own of that name, like `constructor`. */
export function memberOf(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Whether a JSON value is an object. */
export function isObject(json: JsonValue | undefined): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}
