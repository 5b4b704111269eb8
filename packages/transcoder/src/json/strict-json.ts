import {
  fromJson,
  ScalarType,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonReadOptions,
  type JsonValue,
  type Message,
  type Registry,
} from '@bufbuild/protobuf';
import { hasCustomJsonRepresentation, isWrapperDesc } from '@bufbuild/protobuf/wkt';
import { contentOfAny, isAny } from '../fields/any-content.js';
import { isObject, memberOf } from '../fields/json-object.js';
import { takesNull } from '../fields/message-fields.js';
import { lenientMessageForms, messageForms } from '../fields/text-form.js';
import { strictScalar } from '../fields/text-value.js';
import type { ReadingOptions } from './json-options.js';

/**
 * Converts a JSON value, which it may change in place, to the one that `fromJson` reads as intended; undefined if
 * `fromJson` would accept more than ProtoJSON allows. Values that `fromJson` refuses stay unchanged.
 */
type Rule = (json: JsonValue) => JsonValue | undefined;

/** Applies a rule to one field in the JSON form of its message; false if the value is refused. */
type FieldRule = (json: JsonObject) => boolean;

/**
 * Parses ProtoJSON more strictly than `fromJson` does: text in numbers, times, durations, field masks and bytes must
 * follow the exact grammar, a time must exist in the calendar, a map key has one form, and an Any holds nothing beside
 * its message. Integers may be written in every form of a number.
 */
export class StrictJson {
  readonly #registry: Registry;
  readonly #lenient: boolean;
  readonly #read: Partial<JsonReadOptions>;
  readonly #rules = new Map<DescMessage, Rule>();

  constructor(registry: Registry, { ignoreUnknown = false, lenient = false }: ReadingOptions = {}) {
    this.#registry = registry;
    this.#lenient = lenient;
    this.#read = { registry, ignoreUnknownFields: ignoreUnknown };
  }

  /** @throws Error if the value, which may be changed in place, is not the ProtoJSON form of the message */
  read(message: DescMessage, json: JsonValue): Message {
    const strict = this.#rule(message)(json);
    if (strict === undefined) throw new Error(`The value is not the ProtoJSON form of ${message.typeName}.`);
    return fromJson(message, strict, this.#read);
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

  #rule(message: DescMessage): Rule {
    let rule = this.#rules.get(message);
    if (rule === undefined) {
      rule = this.#compile(message);
      this.#rules.set(message, rule);
    }
    return rule;
  }

  #compile(message: DescMessage): Rule {
    if (isWrapperDesc(message)) return scalarRule(message.fields[0].scalar) ?? unchanged;
    if (isAny(message)) return (json) => (isObject(json) ? this.#strictAny(json) : json);
    const form = (this.#lenient ? lenientMessageForms : messageForms).get(message.typeName);
    if (form !== undefined) return (json) => (typeof json === 'string' ? form(json) : json);
    if (hasCustomJsonRepresentation(message)) return unchanged;
    const fields = message.fields.flatMap((field) => this.#fieldRules(field));
    return (json) => (!isObject(json) || fields.every((rule) => rule(json)) ? json : undefined);
  }

  /** The rules for a field under each of its names; none if `fromJson` is strict enough. */
  #fieldRules(field: DescField): FieldRule[] {
    const rule = this.#fieldRule(field);
    const absentAsNull = field.oneof !== undefined && !takesNull(field);
    if (rule === undefined && !absentAsNull) return [];
    return [...new Set([field.jsonName, field.name])].map((key) => (json) => {
      const value = memberOf(json, key);
      // `fromJson` would treat it as the member that is set.
      if (value === null && absentAsNull) return Reflect.deleteProperty(json, key);
      return value === undefined || rule === undefined || put(json, key, rule(value));
    });
  }

  #fieldRule(field: DescField): Rule | undefined {
    const rule = this.#valueRule(field);
    if (field.fieldKind === 'list') return rule && inArray(rule);
    if (field.fieldKind !== 'map') return rule;
    const hasInteger = field.mapKey !== ScalarType.STRING && field.mapKey !== ScalarType.BOOL;
    if (hasInteger) return inObject(rule ?? unchanged, (key) => INTEGER_KEY.test(key));
    return rule && inObject(rule, () => true);
  }

  #valueRule(field: DescField): Rule | undefined {
    const { message, scalar } = field;
    // Looked up at each use, since a message may contain itself.
    if (message !== undefined) return (json) => this.#rule(message)(json);
    return scalar === undefined ? undefined : scalarRule(scalar);
  }

  #strictAny(any: JsonObject): JsonValue | undefined {
    const content = contentOfAny(this.#registry, any);
    if (content === undefined) return any;
    const { message, json } = content;
    const strict = json === undefined ? undefined : this.#rule(message)(json);
    if (!hasCustomJsonRepresentation(message)) return isObject(strict) ? { ...any, ...strict } : undefined;
    return strict === undefined ? undefined : { ...any, value: strict };
  }
}

// Each number has only one form, so that no two keys are equal.
const INTEGER_KEY = /^(?:0|-?[1-9][0-9]*)$/;

const unchanged: Rule = (json) => json;

function scalarRule(scalar: ScalarType): Rule | undefined {
  if (scalar === ScalarType.STRING || scalar === ScalarType.BOOL) return undefined;
  return (json) => strictScalar(scalar, json);
}

function inArray(rule: Rule): Rule {
  return (json) =>
    !Array.isArray(json) || json.every((item, index) => put(json, index, rule(item))) ? json : undefined;
}

function inObject(rule: Rule, isKey: (key: string) => boolean): Rule {
  return (json) => {
    if (!isObject(json)) return json;
    const entries = Object.entries(json);
    return entries.every(([key, value]) => isKey(key) && put(json, key, rule(value))) ? json : undefined;
  };
}

/** Stores an allowed value; returns false for any other. */
function put<Key extends string | number>(
  holder: Record<Key, JsonValue>,
  key: Key,
  value: JsonValue | undefined,
): boolean {
  if (value !== undefined) holder[key] = value;
  return value !== undefined;
}
