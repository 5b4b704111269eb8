import {
  type DescEnum,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonValue,
  type Message,
  type Registry,
  ScalarType,
  toBinary,
} from '@bufbuild/protobuf';
import { reflect, type ReflectMap, type ReflectMessage } from '@bufbuild/protobuf/reflect';
import { type Any, hasCustomJsonRepresentation, isWrapperDesc } from '@bufbuild/protobuf/wkt';
import { bytesOfAny, contentOfAny, isAny } from '../fields/any-content.js';
import { fieldsByName, takesNull } from '../fields/message-fields.js';
import { lenientMessageForms, messageForms } from '../fields/text-form.js';
import { isObject, scalarValue } from '../fields/text-value.js';
import type { ReadingOptions } from './json-options.js';

/** Converts a JSON value to the value that reflection takes; throws, or returns one that reflection refuses. */
type Reader<Value = unknown> = (json: JsonValue) => Value;

/** Reads a JSON value into a field of a message; throws if the field does not take it. */
type FieldReader = (target: ReflectMessage, json: JsonValue) => void;

type MapField = Extract<DescField, { fieldKind: 'map' }>;
type MapKey = Parameters<ReflectMap['set']>[0];

/** The value of a name that an enum does not have, where such names are ignored. */
const IGNORED = Symbol('ignored');

/**
 * Reads ProtoJSON, more strictly than `fromJson` does: text in numbers, times, durations, field masks and bytes must
 * follow the exact grammar, a time must exist in the calendar, a map key has one form, and an Any holds nothing beside
 * its message. Integers may be written in every form of a number. A name is that of one field: the one with this JSON
 * name or, if there is none, with this proto name.
 */
export class StrictJson {
  readonly #registry: Registry;
  readonly #lenient: boolean;
  readonly #ignoresUnknown: boolean;
  readonly #readers = new Map<DescMessage, Reader<ReflectMessage>>();

  constructor(registry: Registry, { ignoreUnknown = false, lenient = false }: ReadingOptions = {}) {
    this.#registry = registry;
    this.#lenient = lenient;
    this.#ignoresUnknown = ignoreUnknown;
  }

  /** @throws Error if the value is not the ProtoJSON form of the message */
  read(message: DescMessage, json: JsonValue): Message {
    return this.#reader(message)(json).message;
  }

  /** Whether a value is the ProtoJSON form of a message. */
  accepts(message: DescMessage, json: JsonValue): boolean {
    try {
      this.read(message, json);
      return true;
    } catch {
      return false;
    }
  }

  #reader(message: DescMessage): Reader<ReflectMessage> {
    let reader = this.#readers.get(message);
    if (reader === undefined) {
      reader = this.#compile(message);
      this.#readers.set(message, reader);
    }
    return reader;
  }

  #compile(message: DescMessage): Reader<ReflectMessage> {
    if (isWrapperDesc(message)) return wrapperReader(message);
    if (isAny(message)) return (json) => this.#any(message, json);
    if (!hasCustomJsonRepresentation(message)) return this.#objectReader(message);
    const form = (this.#lenient ? lenientMessageForms : messageForms).get(message.typeName);
    return (json) => {
      const strict = form !== undefined && typeof json === 'string' ? form(json) : json;
      if (strict === undefined) throw refused(message);
      return reflect(message, fromJson(message, strict));
    };
  }

  /** The reader of a message whose JSON form is an object of its fields. */
  #objectReader(message: DescMessage): Reader<ReflectMessage> {
    const members = new Map(
      [...fieldsByName(message)].map(([name, field]) => {
        const member = { field, takesNull: takesNull(field), read: this.#fieldReader(field) };
        return [name, member] as const;
      }),
    );
    return (json) => {
      if (!isObject(json)) throw refused(message);
      const target = reflect(message);
      // An array, since most messages have few fields.
      const seen: unknown[] = [];
      for (const name of Object.keys(json)) {
        const value = json[name] as JsonValue;
        const member = members.get(name);
        if (member === undefined && this.#ignoresUnknown) continue;
        if (member === undefined || seen.includes(member.field)) throw refused(message);
        const { field, read } = member;
        seen.push(field);
        if (value === null && !member.takesNull) continue;
        if (field.oneof !== undefined) {
          if (seen.includes(field.oneof)) throw refused(message);
          seen.push(field.oneof);
        }
        read(target, value);
      }
      return target;
    };
  }

  #fieldReader(field: DescField): FieldReader {
    const read = this.#valueReader(field);
    if (field.fieldKind === 'list') {
      return (target, json) => {
        if (!Array.isArray(json)) throw refused(field);
        const list = target.get(field);
        for (const item of json) {
          const value = read(item);
          if (value !== IGNORED) list.add(value);
        }
      };
    }
    if (field.fieldKind === 'map') {
      return (target, json) => {
        if (!isObject(json)) throw refused(field);
        const map = target.get(field);
        for (const [key, item] of Object.entries(json)) {
          const value = read(item);
          if (value !== IGNORED) map.set(mapKey(field.mapKey, key), value);
        }
      };
    }
    return (target, json) => {
      const value = read(json);
      if (value !== IGNORED) target.set(field, value);
    };
  }

  #valueReader({ enum: type, message, scalar }: DescField): Reader {
    // Looked up at each use, since a message may contain itself.
    if (message !== undefined) return (json) => this.#reader(message)(json);
    return type === undefined ? scalarReader(scalar) : this.#enumReader(type);
  }

  #enumReader(type: DescEnum): Reader {
    const numbers = new Map([
      ...type.values.map(({ jsonName, number }) => [jsonName, number] as const),
      ...type.values.map(({ name, number }) => [name, number] as const),
    ]);
    const hasNull = type.typeName === 'google.protobuf.NullValue';
    return (json) => {
      if (typeof json === 'string') return numbers.get(json) ?? (this.#ignoresUnknown ? IGNORED : undefined);
      return json === null && hasNull ? 0 : json;
    };
  }

  #any(any: DescMessage, json: JsonValue): ReflectMessage {
    if (!isObject(json)) throw refused(any);
    const target = reflect(any);
    if (Object.keys(json).length === 0) return target;
    const content = contentOfAny(this.#registry, json);
    const value =
      content === undefined
        ? bytesOfAny(json)
        : content.json === undefined
          ? undefined
          : toBinary(content.message, this.read(content.message, content.json));
    if (value === undefined) throw refused(any);
    Object.assign(target.message as Any, { typeUrl: json['@type'], value });
    return target;
  }
}

function refused(type: DescMessage | DescField): Error {
  return new Error(`The value is not the ProtoJSON form of the ${String(type)}.`);
}

function wrapperReader(message: DescMessage): Reader<ReflectMessage> {
  const [value] = message.fields as [DescField & { readonly scalar: ScalarType }];
  const read = scalarReader(value.scalar);
  return (json) => {
    const target = reflect(message);
    target.set(value, read(json));
    return target;
  };
}

function scalarReader(scalar: ScalarType): Reader {
  return (json) => scalarValue(scalar, json);
}

// Each number has only one form, so that no two keys are equal.
const INTEGER_KEY = /^(?:0|-?[1-9][0-9]*)$/;

/** The key of a map; undefined, or a text that reflection refuses, if it is not of the type. */
function mapKey(type: MapField['mapKey'], key: string): MapKey {
  if (type === ScalarType.STRING) return key;
  if (type === ScalarType.BOOL) return key === 'true' || (key === 'false' ? false : key);
  return INTEGER_KEY.test(key) ? scalarValue(type, key) : undefined;
}
