import type { DescField, DescMessage } from '@bufbuild/protobuf';
import type { ReflectMessage } from '@bufbuild/protobuf/reflect';

const fieldsOfMessages = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

/**
 * The fields of a message by their names in JSON, which are JSON names and proto names. If a name is the JSON
 * name of one field and the proto name of another, it stands for the field with the JSON name.
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
export function keyOf(holder: object, field: DescField): string {
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
      yield [`[${shorten(String(key))}]`, value as ReflectMessage];
  }
}

const LONGEST_ECHO = 64;
const LONE_SURROGATE = /\p{Surrogate}/gu;

/** A name that a client sent, cut to the maximum length that a response repeats. */
export function shorten(name: string): string {
  return cut(name).replace(LONE_SURROGATE, '\uFFFD');
}

function cut(name: string): string {
  if (name.length <= LONGEST_ECHO) return name;
  // A character has at most two code units; what follows may be long.
  const characters = Array.from(name.slice(0, 2 * (LONGEST_ECHO + 1)));
  return characters.length > LONGEST_ECHO ? `${characters.slice(0, LONGEST_ECHO).join('')}…` : name;
}
