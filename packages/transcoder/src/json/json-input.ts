import {
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonReadOptions,
  type JsonValue,
  type Message,
  type Registry,
  ScalarType,
} from '@bufbuild/protobuf';
import { hasCustomJsonRepresentation, isWrapperDesc } from '@bufbuild/protobuf/wkt';
import {
  type HttpFailure,
  type FieldViolation,
  firstViolations,
  malformed,
  misfit,
} from '../failures/failure.js';
import { allowedScalar, allowedValue } from '../fields/allowed-value.js';
import { contentOfAny, isAny } from '../fields/any-content.js';
import { type Place, shortened, takesNull } from '../fields/message-fields.js';
import { lenientMessageForms, messageForms } from '../fields/text-form.js';
import { isObject, literalValue, memberOf, strictScalar } from '../fields/text-value.js';
import type { ReadingOptions } from './json-options.js';

/**
 * The maximum nesting of objects and arrays in a body. One level may be two messages (a `google.protobuf.Value` and its
 * list, an Any and its content), and protobuf parsers allow 100 levels by default, so every accepted message can be
 * returned.
 */
export const MAX_DEPTH = 48;

/**
 * Parses JSON text (RFC 8259) more strictly than `JSON.parse` does: the bytes must be UTF-8 without a byte order mark,
 * no object may repeat a key, strings and keys must not contain lone surrogates, numbers must be finite, and nesting is
 * limited to `MAX_DEPTH`. A 64-bit integer that a JavaScript number cannot hold becomes a string of its digits.
 *
 * @param locate returns the place of the whole value, from which inner places are found.
 * @throws HttpFailure `REQUEST_MALFORMED`.
 */
export function parseJsonText(bytes: Uint8Array, locate: Locate): JsonValue {
  const text = utf8Text(bytes);
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    // The messages of `JSON.parse` differ between versions of Node, and repeat the text.
    throw malformed('The body is not valid JSON.');
  }
  const integers: LongInteger[] = [];
  const violations = firstViolations(scan(text, () => locate(value), integers));
  if (violations.length > 0) throw misfit(violations);
  return integers.length === 0 ? value : (JSON.parse(withStrings(text, integers)) as JsonValue);
}

/** Finds the place of a JSON value in the message that it belongs to. */
type Locate = (json: JsonValue) => Place;

/** An integer that a JavaScript number cannot hold: its place in the text, and its digits. */
interface LongInteger {
  readonly start: number;
  readonly end: number;
  readonly digits: string;
}

function withStrings(text: string, integers: readonly LongInteger[]): string {
  let result = '';
  let copied = 0;
  for (const { start, end, digits } of integers) {
    result += `${text.slice(copied, start)}"${digits}"`;
    copied = end;
  }
  return result + text.slice(copied);
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const BYTE_ORDER_MARK = '\uFEFF';

function utf8Text(bytes: Uint8Array): string {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw malformed('The body is not UTF-8.');
  }
  if (text.startsWith(BYTE_ORDER_MARK))
    throw malformed('The body begins with a byte order mark; none is allowed.');
  return text;
}

const NUMBER = /-?[0-9][0-9.eE+-]*/y;
const LONE_SURROGATE = /\p{Surrogate}/u;
const EXPONENT = /[eE]/;

/** Whether parsing may have changed a number in a way that matters: it is an integer, or infinite. */
function isRounded(literal: string): boolean {
  if (literal.length <= 15 && !EXPONENT.test(literal)) return false;
  const value = Number(literal);
  return Number.isInteger(value) || !Number.isFinite(value);
}

/** An object or array that is open at some point of the text, and the current key or index in it. */
type Open = {
  /** The place of the object or array itself, once it is needed. */
  place?: Place;
} & (
  | { readonly kind: 'object'; readonly keys: Set<string>; at: string; keyNext: boolean }
  | { readonly kind: 'array'; at: number }
);

/** Scans text that `JSON.parse` has accepted for the errors that it ignores. */
function* scan(text: string, locate: () => Place, integers: LongInteger[]): Generator<FieldViolation> {
  const open: Open[] = [];
  const outside: Open = { kind: 'array', at: 0 };
  const placeIn = (depth: number): Place => {
    const holder = open[depth - 1];
    if (holder === undefined) return locate();
    holder.place ??= placeIn(depth - 1);
    return holder.place.to(holder.at);
  };
  const here = (description: string): FieldViolation => ({ field: placeIn(open.length).path, description });
  let inner = outside as Open;
  // Character by character: matching a pattern for each token would take three times as long.
  for (let start = 0, end = 0; start < text.length; start = end) {
    const first = text.charAt(start);
    end = start + 1;
    if (first === '{' || first === '[') {
      inner =
        first === '[' ? { kind: 'array', at: 0 } : { kind: 'object', keys: new Set(), at: '', keyNext: true };
      if (open.push(inner) > MAX_DEPTH) throw nestedTooDeep();
    } else if (first === '}' || first === ']') {
      open.pop();
      inner = open.at(-1) ?? outside;
    } else if (first === ',') {
      if (inner.kind === 'object') inner.keyNext = true;
      else inner.at += 1;
    } else if (first === '"') {
      end = endOfString(text, start);
      const token = text.slice(start, end);
      const content = token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1);
      if (inner.kind === 'object' && inner.keyNext) {
        inner.at = content;
        inner.keyNext = false;
        if (inner.keys.has(content)) yield here('Must be given once; got it again.');
        inner.keys.add(content);
      }
      if (LONE_SURROGATE.test(content))
        yield here('Must have only whole characters; got half of a surrogate pair.');
    } else if (first === '-' || (first >= '0' && first <= '9')) {
      NUMBER.lastIndex = start;
      NUMBER.test(text);
      end = NUMBER.lastIndex;
      const token = text.slice(start, end);
      if (!isRounded(token)) continue;
      const place = placeIn(open.length);
      const { field } = place;
      const value = literalValue(field, token);
      if (value === undefined)
        yield { field: place.path, description: `Must be ${allowedAt(field)}; got ${shortened(token)}.` };
      if (typeof value === 'string' && !Number.isSafeInteger(Number(value))) {
        integers.push({ start, end, digits: value });
      }
    }
  }
}

/** The index after the closing quotation mark of a string. A regular expression would need memory for each escape. */
function endOfString(text: string, start: number): number {
  for (let mark = text.indexOf('"', start + 1); ; mark = text.indexOf('"', mark + 1)) {
    let backslashes = 0;
    while (text.charAt(mark - 1 - backslashes) === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return mark + 1;
  }
}

function nestedTooDeep(): HttpFailure {
  return malformed(`The body is nested deeper than ${MAX_DEPTH} levels.`);
}

function allowedAt(field: DescField | undefined): string {
  return field === undefined ? allowedScalar(ScalarType.DOUBLE) : allowedValue(field);
}

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
