import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescOneof,
  fromJson,
  type Message,
  type Registry,
  ScalarType,
  toBinary,
} from '@bufbuild/protobuf';
import { reflect, type ReflectMessage } from '@bufbuild/protobuf/reflect';
import { type Any, hasCustomJsonRepresentation, isWrapperDesc } from '@bufbuild/protobuf/wkt';
import { invalidFields } from '../failures/failure.js';
import { allowedScalar, quote } from '../fields/allowed-value.js';
import { bytesOfAny, isAny, typeInAny } from '../fields/any-content.js';
import { isObject, isTextFlaw, memberOf, type SentJson, type SentObject } from '../fields/json-value.js';
import { fieldsByName, takesNull } from '../fields/message-fields.js';
import { lenientMessageForms, messageForms } from '../fields/text-form.js';
import { scalarValue, type ValueType } from '../fields/text-value.js';
import type { ReadingOptions } from './json-options.js';
import { type PlainJson, plainValue, refuse, refuseFlaws, refuseKind } from './sent-value.js';
import { type Filling, structFillings } from './struct-json.js';
import { Violations } from './violations.js';

/**
 * Converts a JSON value of one type to the value that reflection takes. What is wrong inside the value is added to `found`.
 * If the value is wrong as a whole, the reader returns undefined or throws, or returns a value that reflection refuses;
 * `readValue` treats all three alike.
 */
type Reader = (json: PlainJson, found: Violations) => unknown;

/** Reads a JSON value into a field of a message, and adds what is wrong to `found`. */
type FieldReader = (target: ReflectMessage, json: SentJson, found: Violations) => void;

/** A field as a member of a JSON object. */
interface Member {
  readonly field: DescField;
  readonly takesNull: boolean;
  /** Whether an object may have another member with which this member is not allowed. */
  readonly mayHaveRival: boolean;
  readonly read: FieldReader;
}

type MapField = Extract<DescField, { fieldKind: 'map' }>;

/** What a reader returns for an unknown name of an enum value, where such names are ignored. */
const IGNORED = Symbol('ignored');

/**
 * Reads ProtoJSON, more strictly than `fromJson` does: text in numbers, times, durations, field masks and bytes must
 * follow the exact grammar, a time must exist in the calendar, a map key has one form, and an Any holds nothing beside
 * its message. Integers may be written in every form of a number. A name stands for one field: that with this JSON name or,
 * if there is none, that with this proto name.
 *
 * Each value is read once. What is wrong is added to the violations, and the reader goes on with the next value, until
 * there are as many as a response shows. The message then is only good for finding more of them.
 */
export class StrictJson {
  readonly #registry: Registry;
  readonly #lenient: boolean;
  readonly #ignoresUnknown: boolean;
  readonly #readers = new Map<DescMessage, Reader>();
  readonly #members = new Map<DescField, Member>();

  constructor(registry: Registry, { ignoreUnknown = false, lenient = false }: ReadingOptions = {}) {
    this.#registry = registry;
    this.#lenient = lenient;
    this.#ignoresUnknown = ignoreUnknown;
  }

  /** @throws HttpFailure `REQUEST_MALFORMED` if the value is not the ProtoJSON form of the message */
  read(message: DescMessage, json: SentJson): Message {
    const found = new Violations();
    const read = this.readMessage(message, json, found);
    if (found.count > 0) throw invalidFields(found);
    return read.message;
  }

  /** The message that a value stands for; an empty message if the value is wrong as a whole. */
  readMessage(message: DescMessage, json: SentJson, found: Violations): ReflectMessage {
    let read = reflect(message);
    readValue({ message }, this.#readerOf(message), json, found, (value) => {
      read = value as ReflectMessage;
    });
    return read;
  }

  /**
   * Sets a field of a message, or adds to a repeated field. Null leaves the field as it is, unless null is a value of
   * the field.
   */
  readField(target: ReflectMessage, field: DescField, json: SentJson, found: Violations): void {
    readMember(target, this.#memberFor(field), json, found);
  }

  #memberFor(field: DescField): Member {
    let member = this.#members.get(field);
    if (member === undefined) {
      const { jsonName, name, oneof } = field;
      member = {
        field,
        takesNull: takesNull(field),
        mayHaveRival: oneof !== undefined || jsonName !== name,
        read: this.#fieldReader(field),
      };
      this.#members.set(field, member);
    }
    return member;
  }

  #readerOf(message: DescMessage): Reader {
    let reader = this.#readers.get(message);
    if (reader === undefined) {
      reader = this.#compile(message);
      this.#readers.set(message, reader);
    }
    return reader;
  }

  #compile(message: DescMessage): Reader {
    if (isAny(message)) return (json, found) => this.#any(message, json, found);
    if (isWrapperDesc(message)) return wrapperReader(message);
    const fill = structFillings.get(message.typeName);
    if (fill !== undefined) return (json, found) => filledMessage(reflect(message), fill, json, found);
    const form = (this.#lenient ? lenientMessageForms : messageForms).get(message.typeName);
    if (form === undefined) return this.#objectReader(message);
    return (json) => {
      const text = typeof json === 'string' ? form(json) : undefined;
      return text === undefined ? undefined : reflect(message, fromJson(message, text));
    };
  }

  /** The reader of a message whose JSON form is an object of its fields. */
  #objectReader(message: DescMessage): Reader {
    const members = new Map(
      [...fieldsByName(message)].map(([name, field]) => [name, this.#memberFor(field)] as const),
    );
    return (json, found) => {
      if (!isObject(json)) return undefined;
      const target = reflect(message);
      let names: NamesSoFar | undefined;
      for (const name of Object.keys(json)) {
        if (found.isFull) break;
        const value = json[name] as SentJson;
        const member = members.get(name);
        if (member === undefined) {
          this.#readUnknown(name, value, found);
          continue;
        }
        if (member.mayHaveRival) names ??= new NamesSoFar();
        const rival = names?.rivalOf(member, name, value);
        if (rival === undefined) readMember(target, member, value, found);
        else refuseBoth(found, member.field, rival);
      }
      return target;
    };
  }

  #readUnknown(name: string, json: SentJson, found: Violations): void {
    found.enter('key', name);
    if (this.#ignoresUnknown || isTextFlaw(json)) refuseFlaws(json, found);
    else found.add(() => `Must be a known field; got ${quote(name)}.`);
    found.leave();
  }

  #fieldReader(field: DescField): FieldReader {
    const read = this.#valueReader(field);
    if (field.fieldKind === 'list') return listReader(field, read);
    if (field.fieldKind === 'map') return mapReader(field, read);
    return (target, json, found) => {
      readValue(field, read, json, found, (value) => {
        target.set(field, value);
      });
    };
  }

  #valueReader({ enum: type, message, scalar }: DescField): Reader {
    // Looked up at each use, since a message may contain itself.
    if (message !== undefined) return (json, found) => this.#readerOf(message)(json, found);
    return type === undefined ? (json) => scalarValue(scalar, json) : this.#enumReader(type);
  }

  #enumReader(type: DescEnum): Reader {
    const numbers = new Map([
      ...type.values.map(({ jsonName, number }) => [jsonName, number] as const),
      ...type.values.map(({ name, number }) => [name, number] as const),
    ]);
    const hasNull = type.typeName === 'google.protobuf.NullValue';
    return (json) => {
      if (typeof json === 'string') return numbers.get(json) ?? (this.#ignoresUnknown ? IGNORED : undefined);
      return json === null && hasNull ? 0 : scalarValue(ScalarType.INT32, json);
    };
  }

  #any(any: DescMessage, json: PlainJson, found: Violations): ReflectMessage | undefined {
    if (!isObject(json)) return undefined;
    const target = reflect(any);
    if (Object.keys(json).length === 0) return target;
    const type = typeInAny(this.#registry, json);
    const value = type === undefined ? bytesOfAny(json) : this.#contentOfAny(type, json, found);
    if (value === undefined) return undefined;
    Object.assign(target.message as Any, { typeUrl: json['@type'], value });
    return target;
  }

  /**
   * The binary form of the message in an Any. The JSON form of an Any holds the fields of the message beside "@type" or,
   * for a message whose JSON form is not an object of its fields, the whole message as "value". An Empty may have either.
   *
   * @param any the JSON form of the Any.
   * @returns undefined if that is neither.
   */
  #contentOfAny(message: DescMessage, any: SentObject, found: Violations): Uint8Array | undefined {
    const fields = { ...any };
    delete fields['@type'];
    const hasOnlyValue = Object.keys(fields).every((key) => key === 'value');
    const value = hasOnlyValue ? memberOf(fields, 'value') : undefined;
    const countBefore = found.count;

    let content: ReflectMessage;
    if (hasCustomJsonRepresentation(message)) {
      if (value === undefined) return undefined;
      found.enter('field', 'value');
      content = this.readMessage(message, value, found);
      found.leave();
    } else {
      const isWrapped = message.typeName === 'google.protobuf.Empty' && isObject(value);
      content = this.readMessage(message, isWrapped ? value : fields, found);
    }

    // A message with violations may have no binary form.
    return found.count > countBefore ? NO_BYTES : toBinary(message, content.message);
  }
}

const NO_BYTES = new Uint8Array();

/** The names under which a JSON object has fields, and members of oneofs, up to the member that is being read. */
class NamesSoFar {
  readonly #names = new Map<DescField | DescOneof, string>();

  /**
   * The name under which the object already has the same field, or another member of its oneof; undefined if it has
   * neither. Notes that it has the field from now on.
   *
   * @param name the name under which the object has the field.
   */
  rivalOf({ field, takesNull: hasNull }: Member, name: string, value: SentJson): string | undefined {
    // A null that is no value of the field gives its oneof nothing.
    const oneof = value === null && !hasNull ? undefined : field.oneof;
    const rival = this.#names.get(field) ?? (oneof && this.#names.get(oneof));
    this.#names.set(field, name);
    if (oneof !== undefined) this.#names.set(oneof, name);
    return rival;
  }
}

function refuseBoth(found: Violations, { name }: DescField, rival: string): void {
  found.enter('field', name);
  found.add(() => rivalDescription(rival));
  found.leave();
}

/** Describes the violation of a field that is not allowed beside another. @param rival the name of the other, as sent */
export function rivalDescription(rival: string): string {
  return `Must be given without "${rival}"; got both.`;
}

function readMember(target: ReflectMessage, member: Member, json: SentJson, found: Violations): void {
  if (json === null && !member.takesNull) return;
  found.enter('field', member.field.name);
  member.read(target, json, found);
  found.leave();
}

/**
 * Reads one value: a field that is not repeated, an item of a list, a value of a map, or a whole message. This is the only
 * place where a value is refused as a whole.
 *
 * @param put stores what was read, unless the value is refused or ignored; throws if reflection does not take it.
 */
function readValue(
  type: ValueType,
  read: Reader,
  json: SentJson,
  found: Violations,
  put: (value: unknown) => void,
): void {
  const plain = plainValue(type, json);
  try {
    const value = plain === undefined ? undefined : read(plain, found);
    if (value === undefined) refuse(found, type, json);
    else if (value !== IGNORED) put(value);
  } catch {
    refuse(found, type, json);
  }
}

function listReader(field: Extract<DescField, { fieldKind: 'list' }>, read: Reader): FieldReader {
  return (target, json, found) => {
    if (!Array.isArray(json)) {
      refuseKind(found, 'an array', json);
      return;
    }
    const list = target.get(field);
    const put = (value: unknown): void => {
      list.add(value);
    };
    for (let index = 0; index < json.length && !found.isFull; index += 1) {
      found.enter('item', index);
      readValue(field, read, json[index] as SentJson, found, put);
      found.leave();
    }
  };
}

function mapReader(field: MapField, read: Reader): FieldReader {
  return (target, json, found) => {
    if (!isObject(json)) {
      refuseKind(found, 'an object', json);
      return;
    }
    const map = target.get(field);
    for (const key of Object.keys(json)) {
      if (found.isFull) return;
      found.enter('item', key);
      readValue(field, read, json[key] as SentJson, found, (value) => {
        const mapKey = mapKeyOf(field.mapKey, key);
        if (mapKey === undefined) refuseKey(found, field, key);
        else map.set(mapKey, value);
      });
      found.leave();
    }
  };
}

function refuseKey(found: Violations, { mapKey }: MapField, key: string): void {
  found.add(() => `Must have ${allowedScalar(mapKey)} as its key; got ${quote(key)}.`);
}

function wrapperReader(message: DescMessage): Reader {
  const [value] = message.fields as [DescField & { readonly scalar: ScalarType }];
  return (json) => {
    const scalar = scalarValue(value.scalar, json);
    if (scalar === undefined) return undefined;
    const target = reflect(message);
    target.set(value, scalar);
    return target;
  };
}

function filledMessage(
  target: ReflectMessage,
  fill: Filling,
  json: PlainJson,
  found: Violations,
): ReflectMessage | undefined {
  return fill(target.message, json, found) ? target : undefined;
}

// Each number has only one form, so that no two keys are equal.
const INTEGER_KEY = /^(?:0|-?[1-9][0-9]*)$/;

/** The key of a map, as reflection takes it; undefined, or a text that reflection refuses, if it is not of the type. */
function mapKeyOf(type: MapField['mapKey'], key: string): unknown {
  if (type === ScalarType.STRING) return key;
  if (type === ScalarType.BOOL) return key === 'true' || (key === 'false' ? false : undefined);
  return INTEGER_KEY.test(key) ? scalarValue(type, key) : undefined;
}
