import type { DescField, DescMessage, JsonObject, JsonValue, Registry } from '@bufbuild/protobuf';
import type { ReflectMessage } from '@bufbuild/protobuf/reflect';
import { hasCustomJsonRepresentation, isWrapperDesc } from '@bufbuild/protobuf/wkt';
import { isAny, typeInAny } from './any-content.js';
import { isObject, memberOf } from './text-value.js';

const fieldsOfMessages = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

/**
 * The fields of a message by their names in JSON, which are JSON names and proto names. A name that one field has as JSON
 * name and another one as proto name is that of the first.
 */
export function fieldsByName(message: DescMessage): ReadonlyMap<string, DescField> {
  let fields = fieldsOfMessages.get(message);
  if (fields === undefined) {
    fields = new Map([
      ...message.fields.map((field) => [field.name, field] as const),
      ...message.fields.map((field) => [field.jsonName, field] as const),
    ]);
    fieldsOfMessages.set(message, fields);
  }
  return fields;
}

/** The name under which a field is written: the JSON name, or the proto name if that is wanted and names this field. */
export function writtenName(field: DescField, protoNames: boolean): string {
  const { jsonName, name, parent } = field;
  return protoNames && fieldsByName(parent).get(name) === field ? name : jsonName;
}

/** The name that an object has a field under, or will have. */
export function keyOf(holder: JsonObject, field: DescField): string {
  const { jsonName, name, parent } = field;
  return Object.hasOwn(holder, name) && fieldsByName(parent).get(name) === field ? name : jsonName;
}

/** Whether null is a value of a field rather than its absence. */
export function takesNull(field: DescField): boolean {
  if (field.fieldKind === 'list' || field.fieldKind === 'map') return false;
  const type = (field.enum ?? field.message)?.typeName;
  return type === 'google.protobuf.NullValue' || type === 'google.protobuf.Value';
}

/** The messages in a field, each with its index or key. */
export function* messagesIn(
  holder: ReflectMessage,
  field: DescField,
): Generator<[at: string, message: ReflectMessage]> {
  if (field.fieldKind === 'message') {
    yield ['', holder.get(field)];
  } else if (field.fieldKind === 'list' && field.listKind === 'message') {
    for (const [index, item] of holder.get(field).entries()) yield [`[${index}]`, item as ReflectMessage];
  } else if (field.fieldKind === 'map' && field.mapKind === 'message') {
    for (const [key, value] of holder.get(field))
      yield [`[${shortened(String(key))}]`, value as ReflectMessage];
  }
}

/** A step into a JSON value: the key of an object or the index of an array. */
export type JsonStep = string | number;

/** A position in the JSON form of a message. The place of a whole message has only its value and the message. */
export interface Place {
  readonly value: JsonValue | undefined;
  /** The message whose fields the next step names, if there is one. */
  readonly container: DescMessage | undefined;
  /** The field that the place belongs to; undefined if there is none. */
  readonly field?: DescField | undefined;
  /** Whether the next step is the key of a map. */
  readonly inMap?: boolean;
  readonly outer?: Place;
  readonly step?: JsonStep;
}

/** The place that a step leads to. */
export function placeIn(registry: Registry, outer: Place, step: JsonStep): Place {
  const { container, field, value: whole } = outer;
  const value = within(whole, step);
  if (typeof step === 'number' || outer.inMap === true) return { value, container, field, outer, step };
  const content = container && isAny(container) && isObject(whole) ? typeInAny(registry, whole) : undefined;
  const holder = content ?? container;
  if (holder !== undefined && hasCustomJsonRepresentation(holder)) {
    const own = isWrapperDesc(holder) ? holder.fields[0] : undefined;
    return { value, container: content, field: own, outer, step };
  }
  const own = holder && fieldsByName(holder).get(step);
  return { value, container: own?.message, field: own, inMap: own?.fieldKind === 'map', outer, step };
}

/**
 * The path of a place in proto names: `['book', 'tagNames', 2]` is `book.tag_names[2]`. Map keys are in brackets; unknown
 * keys stay as sent.
 */
export function pathOf({ outer, step, field }: Place): string {
  if (outer === undefined || step === undefined) return '';
  const path = pathOf(outer);
  if (typeof step === 'number' || outer.inMap === true) return `${path}[${shortened(String(step))}]`;
  return path + (path && '.') + (field?.name ?? shortened(step));
}

function within(json: JsonValue | undefined, step: JsonStep): JsonValue | undefined {
  if (typeof step === 'number') return Array.isArray(json) ? json[step] : undefined;
  return isObject(json) ? memberOf(json, step) : undefined;
}

const LONGEST_ECHO = 64;
const LONE_SURROGATE = /\p{Surrogate}/gu;

/** A name that a client sent, cut to the maximum length that a response repeats. */
export function shortened(name: string): string {
  const characters = Array.from(name);
  const cut = characters.length > LONGEST_ECHO ? `${characters.slice(0, LONGEST_ECHO).join('')}…` : name;
  return cut.replace(LONE_SURROGATE, '\uFFFD');
}
