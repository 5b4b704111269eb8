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

/** A position in the JSON form of a message. */
export interface Place {
  /**
   * The field path in proto names: `['book', 'tagNames', 2]` is `book.tag_names[2]`. Map keys are in brackets; unknown
   * keys stay as sent.
   */
  readonly path: string;
  /** The field that the place belongs to; undefined if there is none. */
  readonly field: DescField | undefined;
  /** The place that a step from here leads to. */
  to(step: JsonStep): Place;
}

/** A JSON value that should be the form of a message. */
interface Form {
  readonly message: DescMessage;
  readonly json: JsonValue;
}

/** The place of a whole message. */
export function startOf(registry: Registry, { message, json }: Form): Place {
  return new Position(
    registry,
    { value: json, container: message, field: undefined, inMap: false },
    () => '',
  );
}

/** What is at a position. */
interface Found {
  readonly value: JsonValue | undefined;
  /** The message whose fields the next step names, if there is one. */
  readonly container: DescMessage | undefined;
  readonly field: DescField | undefined;
  /** Whether the next step is the key of a map. */
  readonly inMap: boolean;
}

class Position implements Place {
  readonly #registry: Registry;
  readonly #found: Found;
  readonly #path: () => string;

  /** @param path called only for places that are reported. */
  constructor(registry: Registry, found: Found, path: () => string) {
    this.#registry = registry;
    this.#found = found;
    this.#path = path;
  }

  get path(): string {
    return this.#path();
  }

  get field(): DescField | undefined {
    return this.#found.field;
  }

  to(step: JsonStep): Place {
    const { value, container, field, inMap } = this.#found;
    const inner = within(value, step);
    if (typeof step === 'number' || inMap) {
      const found = { value: inner, container, field, inMap: false };
      return new Position(this.#registry, found, () => `${this.path}[${shortened(String(step))}]`);
    }
    const found = this.#member(step, inner);
    return new Position(this.#registry, found, () => {
      const { path } = this;
      return path + (path && '.') + (found.field?.name ?? shortened(step));
    });
  }

  /** What is at a key of the message here. */
  #member(key: string, value: JsonValue | undefined): Found {
    const { value: outer, container } = this.#found;
    const content =
      container && isAny(container) && isObject(outer) ? typeInAny(this.#registry, outer) : undefined;
    const holder = content ?? container;
    if (holder !== undefined && hasCustomJsonRepresentation(holder)) {
      const field = isWrapperDesc(holder) ? holder.fields[0] : undefined;
      return { value, container: content, field, inMap: false };
    }
    const field = holder && fieldsByName(holder).get(key);
    return { value, container: field?.message, field, inMap: field?.fieldKind === 'map' };
  }
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
