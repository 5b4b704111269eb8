import type { DescField, DescMessage, JsonValue, Registry } from '@bufbuild/protobuf';
import { hasCustomJsonRepresentation, isWrapperDesc } from '@bufbuild/protobuf/wkt';
import { isAny, typeInAny } from './any-content.js';
import { isObject, memberOf } from './json-object.js';

const fieldsOfMessages = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

/** The fields of a message by both of their ProtoJSON names, the proto name and the JSON name. */
export function fieldsByName(message: DescMessage): ReadonlyMap<string, DescField> {
  let fields = fieldsOfMessages.get(message);
  if (fields === undefined) {
    fields = new Map(
      message.fields.flatMap((field) => [
        [field.jsonName, field],
        [field.name, field],
      ]),
    );
    fieldsOfMessages.set(message, fields);
  }
  return fields;
}

/** A step into a JSON value: the key of an object or the index of an array. */
export type JsonStep = string | number;

/** A position in the JSON form of a message. */
export interface Place {
  /**
   * The field path in proto names: `['book', 'tagNames', 2]` is `book.tag_names[2]`. Map keys are in brackets; unknown
   * keys stay as sent.
   */
  readonly path: string;
  /** The field that the place belongs to; undefined if there is none. */
  readonly field: DescField | undefined;
}

/** A JSON value that should be the form of a message. */
export interface Form {
  readonly message: DescMessage;
  readonly json: JsonValue;
}

/** Finds the place in the JSON form of a message that the steps lead to. */
export function placeOf(registry: Registry, { message, json }: Form, steps: readonly JsonStep[]): Place {
  let path = '';
  let value: JsonValue | undefined = json;
  let container: DescMessage | undefined = message;
  let field: DescField | undefined;
  let inMap = false;
  for (const step of steps) {
    const outer = value;
    value = within(outer, step);
    if (typeof step === 'number' || inMap) {
      path += `[${shortened(String(step))}]`;
      inMap = false;
      continue;
    }
    const content: DescMessage | undefined =
      container && isAny(container) && isObject(outer) ? typeInAny(registry, outer) : undefined;
    const holder: DescMessage | undefined = content ?? container;
    if (holder !== undefined && hasCustomJsonRepresentation(holder)) {
      field = isWrapperDesc(holder) ? holder.fields[0] : undefined;
      container = content;
    } else {
      field = holder && fieldsByName(holder).get(step);
      container = field?.message;
    }
    path += (path && '.') + (field?.name ?? shortened(step));
    inMap = field?.fieldKind === 'map';
  }
  return { path, field };
}

function within(json: JsonValue | undefined, step: JsonStep): JsonValue | undefined {
  if (typeof step === 'number') return Array.isArray(json) ? json[step] : undefined;
  return isObject(json) ? memberOf(json, step) : undefined;
}

const LONGEST_ECHO = 64;
const LONE_SURROGATE = /\p{Surrogate}/gu;

/** A name that a client sent, cut to the length that a response may repeat. */
export function shortened(name: string): string {
  const characters = Array.from(name);
  const cut = characters.length > LONGEST_ECHO ? `${characters.slice(0, LONGEST_ECHO).join('')}…` : name;
  return cut.replace(LONE_SURROGATE, '\uFFFD');
}
