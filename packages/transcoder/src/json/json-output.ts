import {
  create,
  createRegistry,
  type DescField,
  type DescMessage,
  fromBinary,
  type JsonObject,
  type JsonValue,
  type JsonWriteOptions,
  type Message,
  type Registry,
  ScalarType,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import { reflect, type ReflectMessage } from '@bufbuild/protobuf/reflect';
import {
  type Any,
  BytesValueSchema,
  FeatureSet_FieldPresence,
  hasCustomJsonRepresentation,
} from '@bufbuild/protobuf/wkt';
import { isAny, typeInAny, typeOfUrl } from '../fields/any-content.js';
import { messagesIn, writtenName } from '../fields/message-fields.js';
import { isObject, memberOf } from '../fields/json-value.js';
import { FieldBehavior } from '../gen/google/api/field_behavior_pb.js';
import type { JsonOptions } from './json-options.js';
import { hasBehavior } from '../template/contract-options.js';

/** Converts the JSON form of a value, which it may change in place, to its output form. */
type Amendment = (json: JsonValue) => JsonValue;

/** Called with the type URL of an Any whose type is unknown. */
export type UnknownType = (typeUrl: string) => void;

const ignore: UnknownType = () => undefined;

/** Adjusts one field in the JSON form of its message. */
type FieldAmendment = (json: JsonObject) => void;

/**
 * The JSON form of response messages: ProtoJSON with fields in the order of their numbers and map entries in the order
 * of their keys, so that equal messages have equal texts and entity tags. A Go server writes maps in a different order
 * each time.
 */
export class JsonOutput {
  readonly #registry: Registry;
  readonly #unknownType: UnknownType;
  readonly #written: Partial<JsonWriteOptions>;
  readonly #protoNames: boolean;
  readonly #omitsUnassigned: boolean;
  readonly #milliseconds: boolean;
  readonly #amendments = new Map<DescMessage, Amendment>();

  /** @param unknownType called for each Any of a type that the registry lacks, with its type URL. */
  constructor(registry: Registry, options: JsonOptions = {}, unknownType: UnknownType = ignore) {
    const { omit = 'nothing', protoNames = false, milliseconds = false } = options;
    this.#registry = registry;
    this.#unknownType = unknownType;
    this.#written = {
      registry: createRegistry(registry, BytesValueSchema),
      alwaysEmitImplicit: omit !== 'defaults',
      useProtoFieldName: protoNames,
    };
    this.#protoNames = protoNames;
    this.#omitsUnassigned = omit === 'unassigned';
    this.#milliseconds = milliseconds;
  }

  /**
   * The JSON text of a message, or of one field of it.
   *
   * @param message what is in an Any of an unknown type is replaced.
   * @throws Error if the message has no JSON form
   */
  text(schema: DescMessage, message: Message, field?: DescField): string {
    if (holdsAny(schema)) this.#replaceUnknown(reflect(schema, message));
    return JSON.stringify(field === undefined ? this.json(schema, message) : this.fieldJson(field, message));
  }

  /** Gives each Any of an unknown type, which has no JSON form, the same bytes as a `BytesValue`. */
  #replaceUnknown(holder: ReflectMessage): void {
    if (isAny(holder.desc)) {
      this.#replaceContent(holder.message as Any);
      return;
    }
    for (const field of holder.fields) {
      if (field.message === undefined || !holder.isSet(field) || !holdsAny(field.message)) continue;
      for (const [, message] of messagesIn(holder, field)) this.#replaceUnknown(message);
    }
  }

  #replaceContent(any: Any): void {
    if (any.typeUrl === '') return;
    const type = typeOfUrl(this.#registry, any.typeUrl);
    if (type === undefined) {
      this.#unknownType(any.typeUrl);
      any.typeUrl += AS_BYTES;
      any.value = toBinary(BytesValueSchema, create(BytesValueSchema, { value: any.value }));
    } else if (holdsAny(type)) {
      const content = fromBinary(type, any.value);
      this.#replaceUnknown(reflect(type, content));
      any.value = toBinary(type, content);
    }
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
    const key = writtenName(field, this.#protoNames);
    const whole = { ...this.#written, alwaysEmitImplicit: true };
    return (
      memberOf(this.json(field.parent, message) as JsonObject, key) ??
      memberOf(toJson(field.parent, message, whole) as JsonObject, this.#nameOf(field)) ??
      null
    );
  }

  /** The name that `toJson` gives to a field. */
  #nameOf(field: DescField): string {
    return this.#protoNames ? field.name : field.jsonName;
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
        return this.#milliseconds ? withMilliseconds : keep;
      case 'google.protobuf.FloatValue':
        return withFewestDigits;
      case 'google.protobuf.Any':
        return (json) => this.#amendAny(json as JsonObject);
      case 'google.protobuf.Struct':
      case 'google.protobuf.Value':
      case 'google.protobuf.ListValue':
        return inOrder;
      default:
        if (hasCustomJsonRepresentation(message)) return keep;
    }
    const fields = message.fields
      .map((field) => this.#fieldAmendment(field))
      .filter((amendment) => amendment !== undefined);
    const renamed = new Map(
      message.fields
        .map((field) => [this.#nameOf(field), writtenName(field, this.#protoNames)] as const)
        .filter(([name, written]) => name !== written),
    );
    if (fields.length === 0 && renamed.size === 0) return keep;
    return (json) => {
      for (const amend of fields) amend(json as JsonObject);
      if (renamed.size === 0) return json;
      const entries = Object.entries(json as JsonObject);
      return Object.fromEntries(entries.map(([name, value]) => [renamed.get(name) ?? name, value]));
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
    return fieldKind === 'map' ? keep : undefined;
  }

  /** An Any holds the fields of its message, or a whole message whose JSON form is not an object. */
  #amendAny(json: JsonObject): JsonObject {
    const type = typeInAny(this.#registry, json);
    if (type === undefined) return typeFirst(json);
    const amend = this.#amendment(type);
    const { value } = json;
    if (value !== undefined && hasCustomJsonRepresentation(type)) json['value'] = amend(value);
    else amend(json);
    return typeFirst(json);
  }
}

/** Ends the type URL of an Any of an unknown type while its content counts as bytes; no type URL has a line break. */
const AS_BYTES = '\n/google.protobuf.BytesValue';

/** An Any with its own type, and before its content, for people and for readers that parse it as it arrives. */
function typeFirst({ '@type': type, ...content }: JsonObject): JsonObject {
  return typeof type === 'string' ? { '@type': type.replace(AS_BYTES, ''), ...content } : content;
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
  return Object.entries(json).sort(([key], [otherKey]) => (key < otherKey ? -1 : 1));
}

const keep: Amendment = (json) => json;

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

const known = new WeakMap<DescMessage, boolean>();

/** Whether a message is an Any, or a message in it is. */
function holdsAny(message: DescMessage): boolean {
  let holds = known.get(message);
  if (holds === undefined) {
    const reached = new Set([message]);
    // The iteration includes those that are added during the loop.
    for (const { fields } of reached)
      for (const field of fields) if (field.message !== undefined) reached.add(field.message);
    holds = [...reached].some(isAny);
    known.set(message, holds);
  }
  return holds;
}
