import {
  ScalarType,
  toJson,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type JsonWriteOptions,
  type Message,
  type Registry,
} from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence, hasCustomJsonRepresentation } from '@bufbuild/protobuf/wkt';
import { FieldBehavior } from '../gen/google/api/field_behavior_pb.js';
import { typeInAny } from '../fields/any-content.js';
import { hasBehavior } from '../template/contract-options.js';
import { isObject, memberOf } from '../fields/json-object.js';
import type { JsonOptions } from './json-options.js';

/** Converts the JSON form of a value, which it may change in place, to its output form. */
type Amendment = (json: JsonValue) => JsonValue;

/** Adjusts one field in the JSON form of its message. */
type FieldAmendment = (json: JsonObject) => void;

/**
 * The JSON form of response messages: ProtoJSON with fields in the order of their numbers and map entries in the order
 * of their keys, so that equal messages have equal texts and entity tags. A Go server writes maps in a different order
 * each time.
 */
export class JsonOutput {
  readonly #registry: Registry;
  readonly #written: Partial<JsonWriteOptions>;
  readonly #omitsUnassigned: boolean;
  readonly #milliseconds: boolean;
  readonly #amendments = new Map<DescMessage, Amendment>();

  constructor(registry: Registry, options: JsonOptions = {}) {
    const { omit = 'nothing', protoNames = false, milliseconds = false } = options;
    this.#registry = registry;
    this.#written = { registry, alwaysEmitImplicit: omit !== 'defaults', useProtoFieldName: protoNames };
    this.#omitsUnassigned = omit === 'unassigned';
    this.#milliseconds = milliseconds;
  }

  /** @throws Error if the message has no JSON form, for example a time after the year 9999 */
  json(schema: DescMessage, message: Message): JsonValue {
    return this.#amendment(schema)(toJson(schema, message, this.#written));
  }

  /**
   * The JSON form of one field of a message: its default value if the JSON form of the message omits it, null if it has
   * presence and is not set.
   *
   * @throws Error if the message has no JSON form
   */
  fieldJson(field: DescField, message: Message): JsonValue {
    const key = this.#nameOf(field);
    const whole = { ...this.#written, alwaysEmitImplicit: true };
    return (
      memberOf(this.json(field.parent, message) as JsonObject, key) ??
      memberOf(toJson(field.parent, message, whole) as JsonObject, key) ??
      null
    );
  }

  #nameOf(field: DescField): string {
    return this.#written.useProtoFieldName === true ? field.name : field.jsonName;
  }

  #amendment(message: DescMessage): Amendment {
    let amendment = this.#amendments.get(message);
    if (amendment === undefined) {
      amendment = this.#compile(message);
      this.#amendments.set(message, amendment);
    }
    return amendment;
  }

  #compile(message: DescMessage): Amendment {
    switch (message.typeName) {
      case 'google.protobuf.Timestamp':
        return this.#milliseconds ? withMilliseconds : unchanged;
      case 'google.protobuf.FloatValue':
        return withFewestDigits;
      case 'google.protobuf.Any':
        return (json) => this.#amendAny(json as JsonObject);
      case 'google.protobuf.Struct':
      case 'google.protobuf.Value':
      case 'google.protobuf.ListValue':
        return inOrder;
      default:
        if (hasCustomJsonRepresentation(message)) return unchanged;
    }
    const fields = message.fields
      .map((field) => this.#fieldAmendment(field))
      .filter((each) => each !== undefined);
    if (fields.length === 0) return unchanged;
    return (json) => {
      for (const amend of fields) amend(json as JsonObject);
      return json;
    };
  }

  #fieldAmendment(field: DescField): FieldAmendment | undefined {
    const key = this.#nameOf(field);
    const amend = this.#valueAmendment(field);
    if (amend === undefined) {
      const omitted = this.#omitsUnassigned && isPlainString(field);
      if (!omitted || !hasBehavior(field, FieldBehavior.OUTPUT_ONLY)) return undefined;
      return (json) => {
        if (json[key] === '') Reflect.deleteProperty(json, key);
      };
    }
    return (json) => {
      const value = memberOf(json, key);
      if (value !== undefined) json[key] = amendValues(field, value, amend);
    };
  }

  #valueAmendment({ message, scalar, fieldKind }: DescField): Amendment | undefined {
    // Looked up at each use, since a message may contain itself.
    if (message !== undefined) return (json) => this.#amendment(message)(json);
    if (scalar === ScalarType.FLOAT) return withFewestDigits;
    return fieldKind === 'map' ? unchanged : undefined;
  }

  /** An Any holds the fields of its message, or a whole message whose JSON form is not an object. */
  #amendAny(json: JsonObject): JsonObject {
    const type = typeInAny(this.#registry, json);
    if (type === undefined) return json;
    const amend = this.#amendment(type);
    const { value } = json;
    if (value !== undefined && hasCustomJsonRepresentation(type)) json['value'] = amend(value);
    else amend(json);
    return json;
  }
}

function isPlainString(field: DescField): boolean {
  return (
    field.fieldKind === 'scalar' &&
    field.scalar === ScalarType.STRING &&
    field.presence === FeatureSet_FieldPresence.IMPLICIT
  );
}

function amendValues(field: DescField, json: JsonValue, amend: Amendment): JsonValue {
  if (field.fieldKind === 'list') return (json as JsonValue[]).map(amend);
  if (field.fieldKind !== 'map') return amend(json);
  return Object.fromEntries(sortedEntries(json as JsonObject).map(([key, value]) => [key, amend(value)]));
}

/** A JSON value with the keys of all objects sorted. */
function inOrder(json: JsonValue): JsonValue {
  if (Array.isArray(json)) return json.map(inOrder);
  if (!isObject(json)) return json;
  return Object.fromEntries(sortedEntries(json).map(([key, value]) => [key, inOrder(value)]));
}

function sortedEntries(json: JsonObject): [string, JsonValue][] {
  return Object.entries(json).sort(([one], [other]) => (one < other ? -1 : 1));
}

const unchanged: Amendment = (json) => json;

const WHOLE_SECONDS = /:[0-9]{2}Z$/;

function withMilliseconds(json: JsonValue): JsonValue {
  const time = json as string;
  return WHOLE_SECONDS.test(time) ? time.replace('Z', '.000Z') : time;
}

/** The shortest decimal that identifies a float: 0.1, which as a double is 0.10000000149011612. */
function withFewestDigits(json: JsonValue): JsonValue {
  if (typeof json !== 'number') return json;
  let value = json;
  for (let digits = 9; digits >= 6; digits -= 1) {
    const shorter = Number(json.toPrecision(digits));
    if (Math.fround(shorter) !== json) break;
    value = shorter;
  }
  return value;
}
