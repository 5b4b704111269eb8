import type { DescField } from '@bufbuild/protobuf';
import { isObject, memberOf, type SentJson } from '../fields/json-value.js';
import { keyOf } from '../fields/message-fields.js';
import type { Binding, FieldTarget } from '../template/binding.js';

/**
 * The body as JSON of the whole request message: if the body is the field `book` alone, `{"book": <body>}`. Undefined without
 * a body.
 */
export function bodyAsRequest({ body }: Binding, json: SentJson | undefined): SentJson | undefined {
  return typeof body === 'object' && json !== undefined ? { [body.jsonName]: json } : json;
}

/** Whether the body gives a field a value. @param requestJson the body, as `bodyAsRequest` returns it */
export function bodySets(requestJson: SentJson | undefined, { parents, field }: FieldTarget): boolean {
  if (requestJson === undefined) return false;
  const value = [...parents, field].reduce(valueOfField, requestJson);
  return value !== undefined && value !== null;
}

/** The JSON value of a field in the JSON form of its message; undefined if it has none. */
export function valueOfField(messageJson: SentJson | undefined, field: DescField): SentJson | undefined {
  return isObject(messageJson) ? memberOf(messageJson, keyOf(messageJson, field)) : undefined;
}
