import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type Message,
  type Registry,
  ScalarType,
  toBinary,
} from '@bufbuild/protobuf';
import { reflect, type ReflectMessage } from '@bufbuild/protobuf/reflect';
import { type Any, hasCustomJsonRepresentation, isWrapperDesc } from '@bufbuild/protobuf/wkt';
import { invalidFields } from '../failures/failure.js';
import { quote } from '../fields/allowed-value.js';
import { bytesOfAny, isAny, typeInAny } from '../fields/any-content.js';
import { isObject, isTextFlaw, memberOf, type SentJson, type SentObject } from '../fields/json-value.js';
import { fieldsByName, takesNull } from '../fields/message-fields.js';
import { scalarValue } from '../fields/scalar-value.js';
import { lenientMessageForms, messageForms } from '../fields/text-form.js';
import type { ReadingOptions } from './json-options.js';
import {
  type FieldReader,
  IGNORED,
  listReader,
  mapReader,
  type Reader,
  readValue,
  structReader,
  textReader,
  wrapperReader,
} from './readers.js';
import { NamesSoFar, rivalDescription } from './rivals.js';
import { type PlainJson, refuseFlaws } from './sent-value.js';
import { structFillings } from './struct-json.js';
import { Violations } from './violations.js';

/** A field that a JSON object may give, with what reading it takes. */
interface FieldEntry {
  readonly field: DescField;
  /** Whether null is a value of the field. Otherwise it says that the field is unset. */
  readonly takesNull: boolean;
  /** Whether the object may also give a field that is not allowed beside this one, or the same field under another name. */
  readonly mayHaveRival: boolean;
  readonly read: FieldReader;
}

const NO_BYTES = new Uint8Array();

/**
 * Reads ProtoJSON, more strictly than `fromJson` does: text in numbers, times, durations, field masks and bytes must
 * follow the exact grammar, a time must exist in the calendar, a map key has one form, and an Any holds nothing beside
 * its message. Integers may be written in every form of a number, such as `1e3`. A name stands for one field: that with
 * this JSON name or, if there is none, that with this proto name.
 *
 * Each value is read once. What is wrong is added to the violations, and the reader goes on with the next value, until
 * there are as many as a response shows. A message with violations lacks what was wrong: it only serves to find further
 * ones, for example in path and query.
 */
export class StrictJson {
  readonly #registry: Registry;
  readonly #lenient: boolean;
  readonly #ignoresUnknown: boolean;
  readonly #readers = new Map<DescMessage, Reader>();
  readonly #entries = new Map<DescField, FieldEntry>();

  /**
   * @param options With `ignoreUnknown`, unknown fields and unknown names of enum values are ignored. With `lenient`, names in
   *   field masks may be in snake_case. Default: neither.
   */
  constructor(registry: Registry, { ignoreUnknown = false, lenient = false }: ReadingOptions = {}) {
    this.#registry = registry;
    this.#lenient = lenient;
    this.#ignoresUnknown = ignoreUnknown;
  }

  /** @throws HttpFailure `REQUEST_MALFORMED` if the value is not the ProtoJSON form of the message */
  read(message: DescMessage, json: SentJson): Message {
    const violations = new Violations();
    const result = this.readMessage(message, json, violations);
    if (violations.count > 0) throw invalidFields(violations);
    return result.message;
  }

  /** The message that a value stands for; an empty message if the value is wrong as a whole. */
  readMessage(message: DescMessage, json: SentJson, violations: Violations): ReflectMessage {
    let result = reflect(message);
    readValue({ message }, this.#readerOf(message), json, violations, (value) => {
      result = value as ReflectMessage;
    });
    return result;
  }

  /**
   * Sets a field of a message, or adds to a repeated field. Null leaves the field as it is, unless null is a value of
   * the field.
   */
  readField(target: ReflectMessage, field: DescField, json: SentJson, violations: Violations): void {
    readEntry(target, this.#entryOf(field), json, violations);
  }

  #entryOf(field: DescField): FieldEntry {
    let entry = this.#entries.get(field);
    if (entry === undefined) {
      const { jsonName, name, oneof } = field;
      entry = {
        field,
        takesNull: takesNull(field),
        mayHaveRival: oneof !== undefined || jsonName !== name,
        read: this.#fieldReader(field),
      };
      this.#entries.set(field, entry);
    }
    return entry;
  }

  #readerOf(message: DescMessage): Reader {
    let reader = this.#readers.get(message);
    if (reader === undefined) {
      reader = this.#makeReader(message);
      this.#readers.set(message, reader);
    }
    return reader;
  }

  #makeReader(message: DescMessage): Reader {
    if (isAny(message)) return (json, violations) => this.#readAny(message, json, violations);
    if (isWrapperDesc(message)) return wrapperReader(message);
    const fill = structFillings.get(message.typeName);
    if (fill !== undefined) return structReader(message, fill);
    const textForm = (this.#lenient ? lenientMessageForms : messageForms).get(message.typeName);
    return textForm === undefined ? this.#objectReader(message) : textReader(message, textForm);
  }

  /** The reader of a message whose JSON form is an object of its fields. */
  #objectReader(message: DescMessage): Reader {
    const entries = new Map(
      [...fieldsByName(message)].map(([name, field]) => [name, this.#entryOf(field)] as const),
    );
    return (json, violations) => {
      if (!isObject(json)) return undefined;
      const target = reflect(message);
      let namesSoFar: NamesSoFar | undefined;
      for (const name of Object.keys(json)) {
        if (violations.isFull) break;
        const value = json[name] as SentJson;
        const entry = entries.get(name);
        if (entry === undefined) {
          this.#readUnknown(name, value, violations);
          continue;
        }
        // Made only when needed: most objects have no such fields.
        if (entry.mayHaveRival) namesSoFar ??= new NamesSoFar();
        const rival = namesSoFar?.noteAndFindRival(entry.field, name, isUnset(entry, value));
        if (rival === undefined) readEntry(target, entry, value, violations);
        else refuseRival(violations, entry.field, rival);
      }
      return target;
    };
  }

  /**
   * Refuses an unknown field, or ignores it. The value of an ignored field must still be well-formed. A value that is itself
   * a flaw in the text is reported as such, not as an unknown field.
   */
  #readUnknown(name: string, json: SentJson, violations: Violations): void {
    violations.enter('key', name);
    if (this.#ignoresUnknown || isTextFlaw(json)) refuseFlaws(json, violations);
    else violations.add(() => `Must be a known field; got ${quote(name)}.`);
    violations.leave();
  }

  #fieldReader(field: DescField): FieldReader {
    const reader = this.#valueReader(field);
    if (field.fieldKind === 'list') return listReader(field, reader);
    if (field.fieldKind === 'map') return mapReader(field, reader);
    return (target, json, violations) => {
      readValue(field, reader, json, violations, (value) => {
        target.set(field, value);
      });
    };
  }

  /** The reader of a field that is not repeated, or of one item or value of a repeated or map field. */
  #valueReader({ enum: type, message, scalar }: DescField): Reader {
    // The reader of the message is made only when there is a value: a message may contain itself.
    if (message !== undefined) return (json, violations) => this.#readerOf(message)(json, violations);
    return type === undefined ? (json) => scalarValue(scalar, json) : this.#enumReader(type);
  }

  #enumReader(type: DescEnum): Reader {
    // As in `fromJson`, the proto name of a value wins over an equal JSON name of another.
    const numbers = new Map([
      ...type.values.map(({ jsonName, number }) => [jsonName, number] as const),
      ...type.values.map(({ name, number }) => [name, number] as const),
    ]);
    const isNullValue = type.typeName === 'google.protobuf.NullValue';
    return (json) => {
      if (typeof json === 'string') return numbers.get(json) ?? (this.#ignoresUnknown ? IGNORED : undefined);
      return json === null && isNullValue ? 0 : scalarValue(ScalarType.INT32, json);
    };
  }

  #readAny(any: DescMessage, json: PlainJson, violations: Violations): ReflectMessage | undefined {
    if (!isObject(json)) return undefined;
    const target = reflect(any);
    if (Object.keys(json).length === 0) return target;
    const type = typeInAny(this.#registry, json);
    // The message of an unknown type is sent as its bytes, in base64.
    const value = type === undefined ? bytesOfAny(json) : this.#contentOfAny(type, json, violations);
    if (value === undefined) return undefined;
    Object.assign(target.message as Any, { typeUrl: json['@type'], value });
    return target;
  }

  /**
   * The binary form of the message in an Any. In the JSON form of the Any, the fields of the message stand beside "@type".
   * If the JSON form of the message is not an object of its fields, it stands beside "@type" as "value". An Empty may be
   * written in both ways.
   *
   * @param any the JSON form of the Any.
   * @returns undefined if the message should stand there as "value", and does not, or not alone.
   */
  #contentOfAny(message: DescMessage, any: SentObject, violations: Violations): Uint8Array | undefined {
    const fields = { ...any };
    delete fields['@type'];
    const hasOnlyValue = Object.keys(fields).every((key) => key === 'value');
    const value = hasOnlyValue ? memberOf(fields, 'value') : undefined;
    const mustBeValue = hasCustomJsonRepresentation(message);
    if (mustBeValue && value === undefined) return undefined;

    const isEmptyAsValue = message.typeName === 'google.protobuf.Empty' && isObject(value);
    const standsAsValue = mustBeValue || isEmptyAsValue;
    const countBefore = violations.count;
    let content: ReflectMessage;
    if (value !== undefined && standsAsValue) {
      violations.enter('field', 'value');
      content = this.readMessage(message, value, violations);
      violations.leave();
    } else {
      content = this.readMessage(message, fields, violations);
    }

    // A message with violations may have no binary form, and is not sent.
    return violations.count > countBefore ? NO_BYTES : toBinary(message, content.message);
  }
}

/** Whether a value says only that the field is unset. */
function isUnset(entry: FieldEntry, json: SentJson): boolean {
  return json === null && !entry.takesNull;
}

function readEntry(target: ReflectMessage, entry: FieldEntry, json: SentJson, violations: Violations): void {
  if (isUnset(entry, json)) return;
  violations.enter('field', entry.field.name);
  entry.read(target, json, violations);
  violations.leave();
}

/** Refuses a field beside which the object has another that excludes it, or the same under another name. */
function refuseRival(violations: Violations, { name }: DescField, rival: string): void {
  violations.enter('field', name);
  violations.add(() => rivalDescription(rival));
  violations.leave();
}
