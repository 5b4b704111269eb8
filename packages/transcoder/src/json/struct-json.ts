import { create, type Message } from '@bufbuild/protobuf';
import {
  type ListValue,
  ListValueSchema,
  NullValue,
  type Struct,
  StructSchema,
  type Value,
  ValueSchema,
} from '@bufbuild/protobuf/wkt';
import { isObject, type SentJson, type SentObject, setMember } from '../fields/json-value.js';
import { ANYTHING, type PlainJson, plainValue, refuse } from './sent-value.js';
import type { Violations } from './violations.js';

/**
 * Fills an empty message with a JSON value, and adds what is wrong inside the value.
 *
 * @returns false if the value is of another kind.
 */
export type Filling = (message: Message, json: PlainJson, found: Violations) => boolean;

/** How the messages of google/protobuf/struct.proto are filled, which hold any JSON value, or any object or array. */
export const structFillings: ReadonlyMap<string, Filling> = new Map<string, Filling>([
  [
    'google.protobuf.Struct',
    (message, json, found) => {
      if (!isObject(json)) return false;
      fillStruct(message as Struct, json, found);
      return true;
    },
  ],
  [
    'google.protobuf.ListValue',
    (message, json, found) => {
      if (!Array.isArray(json)) return false;
      fillList(message as ListValue, json, found);
      return true;
    },
  ],
  [
    'google.protobuf.Value',
    (message, json, found) => {
      fillValue(message as Value, json, found);
      return true;
    },
  ],
]);

function fillStruct({ fields }: Struct, json: SentObject, found: Violations): void {
  for (const key of Object.keys(json)) {
    if (found.isFull) return;
    found.enter('key', key);
    setMember(fields, key, valueOf(json[key] as SentJson, found));
    found.leave();
  }
}

function fillList({ values }: ListValue, json: readonly SentJson[], found: Violations): void {
  for (let index = 0; index < json.length && !found.isFull; index += 1) {
    found.enter('item', index);
    values.push(valueOf(json[index] as SentJson, found));
    found.leave();
  }
}

function fillValue(value: Value, json: SentJson, found: Violations): void {
  if (typeof json === 'string') value.kind = { case: 'stringValue', value: json };
  else if (typeof json === 'number') value.kind = { case: 'numberValue', value: json };
  else if (typeof json === 'boolean') value.kind = { case: 'boolValue', value: json };
  else if (json === null) value.kind = { case: 'nullValue', value: NullValue.NULL_VALUE };
  else if (Array.isArray(json)) {
    value.kind = { case: 'listValue', value: create(ListValueSchema) };
    fillList(value.kind.value, json, found);
  } else if (isObject(json)) {
    value.kind = { case: 'structValue', value: create(StructSchema) };
    fillStruct(value.kind.value, json, found);
  } else {
    const plain = plainValue(ANYTHING, json);
    if (plain === undefined) refuse(found, ANYTHING, json);
    else fillValue(value, plain, found);
  }
}

function valueOf(json: SentJson, found: Violations): Value {
  const value = create(ValueSchema);
  fillValue(value, json, found);
  return value;
}
