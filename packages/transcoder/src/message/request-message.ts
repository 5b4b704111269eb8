import {
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type Message,
  type Registry,
  toBinary,
} from '@bufbuild/protobuf';
import { type ReflectMessage, reflect } from '@bufbuild/protobuf/reflect';
import { FeatureSet_FieldPresence, hasCustomJsonRepresentation } from '@bufbuild/protobuf/wkt';
import { concatenated, type FieldViolation, misfit } from '../failures/failure.js';
import { allowedValue, quoted } from '../fields/allowed-value.js';
import { fieldsByName, keyOf, messagesIn, shortened } from '../fields/message-fields.js';
import { hasTextForm, hasTextValue, isObject, memberOf, setMember, textValue } from '../fields/text-value.js';
import { StrictJson } from '../json/json-input.js';
import type { ReadingOptions } from '../json/json-options.js';
import { GIVEN_AGAIN, MAX_DEPTH } from '../json/json-text.js';
import { JsonViolations } from '../json/json-violations.js';
import { impliedMask, setImpliedMask } from './implied-mask.js';
import type { Binding, BoundVariable, FieldTarget } from '../template/binding.js';
import { variableValue } from '../template/path-template.js';

/** The parts of an HTTP request that form a request message. */
interface RequestParts {
  /** The segments of the path, as the look-up returned them. */
  readonly segments: readonly string[];
  readonly query: string;
  /** The JSON value of the body; undefined for a binding without a body. */
  readonly body: JsonValue | undefined;
}

/** Joins path, query and body into the JSON form of the request message, and parses the whole. */
export class RequestMessages {
  readonly #lenient: boolean;
  readonly #isIgnored: (parameter: string) => boolean;
  readonly #strict: StrictJson;
  readonly #jsonViolations: JsonViolations;

  /**
   * @param ignored the query parameters that are ignored if no field has them; a final `*` makes a prefix. Default: none,
   *   and all with `lenient`.
   */
  constructor(registry: Registry, options: ReadingOptions = {}, ignored: Iterable<string> = []) {
    this.#lenient = options.lenient === true;
    this.#isIgnored = this.#lenient ? () => true : parameterMatcher([...ignored]);
    this.#strict = new StrictJson(registry, options);
    this.#jsonViolations = new JsonViolations(registry, options);
  }

  /**
   * The request message of a call.
   *
   * @throws HttpFailure `REQUEST_MALFORMED` with every violation.
   */
  read(binding: Binding, parts: RequestParts): Message {
    // First, since the next step changes the body in place.
    const mask = this.#lenient ? impliedMask(binding, parts.body) : undefined;
    const message = this.#parse(binding, parts);
    if (mask !== undefined) setImpliedMask(message, mask);
    return message;
  }

  #parse(binding: Binding, parts: RequestParts): Message {
    const { input } = binding.method;
    const json = startingJson(binding, parts.body);
    const outside = this.#bindOutside(binding, json, parts);
    const { done, value } = outside.next();
    if (done !== true) throw misfit(concatenated([value], outside, this.#violationsInside(binding, json)));
    try {
      return this.#strict.read(input, json);
    } catch {
      throw misfit(unwrapping(binding, this.#jsonViolations.find(input, json)));
    }
  }

  /**
   * The binary form of a request message.
   *
   * @throws HttpFailure `REQUEST_MALFORMED` with every field that the contract requires and the message lacks (proto2).
   */
  encode({ method }: Binding, message: Message): Uint8Array {
    try {
      return toBinary(method.input, message);
    } catch {
      throw misfit(missingFields(reflect(method.input, message)));
    }
  }

  /** Puts path and query into the JSON form, lazily: only as far as the violations are read. */
  *#bindOutside(binding: Binding, json: JsonValue, parts: RequestParts): Generator<FieldViolation, void> {
    for (const variable of binding.variables) {
      const found = bindVariable(this.#strict, json, variable, parts.segments);
      if (found !== undefined) yield found;
    }
    for (const found of queryParameters(binding, parts.query, this.#lenient, this.#isIgnored)) {
      if ('description' in found) yield found;
      else bindParameter(json, found);
    }
  }

  *#violationsInside(binding: Binding, json: JsonValue): Generator<FieldViolation, void> {
    const { input } = binding.method;
    if (!this.#strict.accepts(input, json))
      yield* unwrapping(binding, this.#jsonViolations.find(input, json));
  }
}

/**
 * The same violations. If the body is one field of the request but holds that field by name, as in a gRPC request, the
 * violation also explains what the body is.
 */
function* unwrapping({ body }: Binding, violations: Iterable<FieldViolation>): Generator<FieldViolation> {
  const places = typeof body === 'object' && body.fieldKind === 'message' ? wrappersOf(body) : [];
  for (const violation of violations) {
    if (typeof body !== 'object' || !places.includes(violation.field)) yield violation;
    else
      yield {
        ...violation,
        description: `${violation.description} The body is the ${body.name} itself; send the value of this field alone.`,
      };
  }
}

/** The paths of fields in the body that have the name of the body itself, unless its message has such a field. */
function wrappersOf({ name, jsonName, message }: Extract<DescField, { fieldKind: 'message' }>): string[] {
  return [name, jsonName].filter((key) => !fieldsByName(message).has(key)).map((key) => `${name}.${key}`);
}

/** The part of the request message's JSON form that the body provides. */
function startingJson({ body }: Binding, json: JsonValue | undefined): JsonValue {
  if (json === undefined || body === undefined) return {};
  return body === '*' ? json : { [body.jsonName]: json };
}

/** Puts the value of a path variable into the JSON form; the body may repeat it, but not contradict it. */
function bindVariable(
  strict: StrictJson,
  json: JsonValue,
  variable: BoundVariable,
  segments: readonly string[],
): FieldViolation | undefined {
  const { field, fieldPath } = variable;
  const refuse = (description: string): FieldViolation => ({ field: fieldPath.join('.'), description });
  const text = variableValue(variable, segments);
  if (text === undefined) return refuse(NOT_UTF8);
  const value = textValue(field, text);
  if (value === undefined) return refuse(notAllowed(field, text));
  const holder = holderOf(json, variable);
  const key = keyOf(holder, field);
  const given = memberOf(holder, key) ?? null;
  if (given !== null) {
    const inBody = scalarOf(strict, field, given);
    // A value that the field refuses stays, so that the parser refuses it.
    if (inBody === undefined) return undefined;
    if (inBody !== scalarOf(strict, field, value)) {
      return refuse('Must be the same in the path and in the body; got different values.');
    }
  }
  setMember(holder, key, value);
  return undefined;
}

/** The scalar or enum value of a JSON value, as text; undefined if there is none. */
function scalarOf(strict: StrictJson, field: DescField, json: JsonValue): string | undefined {
  const holder = { [field.jsonName]: json };
  if (!strict.accepts(field.parent, holder)) return undefined;
  const value: unknown = reflect(field.parent, strict.read(field.parent, holder)).get(field);
  return String(value);
}

function bindParameter(json: JsonValue, parameter: QueryParameter): void {
  const { field, value, key: entry } = parameter;
  const holder = holderOf(json, parameter);
  const key = keyOf(holder, field);
  const given = memberOf(holder, key);
  if (field.fieldKind === 'list') setMember(holder, key, [...((given ?? []) as JsonValue[]), value]);
  else if (entry !== undefined) setMember(holder, key, { ...(given as JsonObject), [entry]: value });
  else setMember(holder, key, value);
}

/**
 * The object that holds a field, created if necessary. If the body has something other than objects on the path, the
 * result is a throwaway object, since the parser refuses the whole body.
 */
function holderOf(json: JsonValue, { parents }: FieldTarget): JsonObject {
  let holder = json;
  for (const parent of parents) {
    if (!isObject(holder)) return {};
    const key = keyOf(holder, parent);
    const next: JsonValue = memberOf(holder, key) ?? {};
    setMember(holder, key, next);
    holder = next;
  }
  return isObject(holder) ? holder : {};
}

/** A value from the query and the field that takes it. */
export interface QueryParameter extends FieldTarget {
  /** The JSON form of the value, of one item of a repeated field, or of the value of a key in a map. */
  readonly value: JsonValue;
  /** The key in a map. */
  readonly key?: string | undefined;
}

/**
 * Reads the query of a request by the rules in google/api/http.proto: a parameter has the path of a request field that
 * is in neither the path nor the body, in proto names or JSON names. Text is decoded as
 * `application/x-www-form-urlencoded`, except that broken escapes and text that is not UTF-8 are refused.
 *
 * @param lenient whether `labels[a]=b` is a parameter for a map, and masks may have names in snake_case.
 * @param isIgnored whether to skip a parameter that no field has, by its decoded name. Default: none is.
 * @returns each parameter, or a violation under the name that was sent; read lazily.
 */
export function* queryParameters(
  binding: Binding,
  query: string,
  lenient: boolean,
  isIgnored: (parameter: string) => boolean = () => false,
): Generator<QueryParameter | FieldViolation, void> {
  const taken = new Set<string>();
  for (const part of query.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const rawName = equals < 0 ? part : part.slice(0, equals);
    const name = decoded(rawName);
    if (name !== undefined && isIgnored(name) && isUnknown(binding.method.input, name, lenient)) continue;
    const text = equals < 0 ? '' : decoded(part.slice(equals + 1));
    const parameter = readParameter(binding, name, text, taken, lenient);
    yield typeof parameter === 'string'
      ? { field: shortened(name ?? rawName), description: parameter }
      : parameter;
  }
}

/**
 * Returns the function that tells whether a parameter has one of the names.
 *
 * @param names each of a parameter or, with a final `*`, the prefix of some.
 */
function parameterMatcher(names: readonly string[]): (parameter: string) => boolean {
  const single = new Set(names);
  const prefixes = names.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  return (parameter) => single.has(parameter) || prefixes.some((prefix) => parameter.startsWith(prefix));
}

const IN_BODY = 'Must be given in the body; got it in the query.';
const NOT_UTF8 = 'Must be percent-encoded UTF-8; got an invalid escape or character.';

function notAllowed(field: DescField, text: string): string {
  return `Must be ${allowedValue(field)}; got ${quoted(text)}.`;
}

/** A parameter, or a sentence that says why it is refused. */
function readParameter(
  binding: Binding,
  name: string | undefined,
  text: string | undefined,
  taken: Set<string>,
  lenient: boolean,
): QueryParameter | string {
  if (name === undefined || text === undefined) return NOT_UTF8;
  const levels = levelsOf(name);
  if (levels > MAX_DEPTH) return `Must have at most ${MAX_DEPTH} levels; got ${levels}.`;
  if (binding.body === '*') return IN_BODY;
  const target = parameterTarget(binding.method.input, name, lenient);
  if (target === undefined) return `Must be a known parameter; got ${quoted(name)}.`;
  const { parents, field, key } = target;
  if ((parents[0] ?? field) === binding.body) return IN_BODY;
  const path = [...parents, field].map((each) => each.name).join('.');
  if (binding.variables.some(({ fieldPath }) => fieldPath.join('.') === path)) {
    return 'Must be given in the path; got it in the query.';
  }
  const place = key === undefined ? path : `${path}[${key}]`;
  if (field.fieldKind !== 'list' && taken.has(place)) return GIVEN_AGAIN;
  taken.add(place);
  const value = textValue(field, text, lenient);
  return value === undefined ? notAllowed(field, text) : { ...target, value };
}

/**
 * Whether a name is that of a field, also of one that takes no value from a query, or leads into a field that has no
 * fields (`labels.a`).
 */
function isKnown(message: DescMessage, path: string): boolean {
  const fields = fieldsByName(message);
  if (fields.has(path)) return true;
  return stepsInto(path).some(([name, rest]) => {
    const parent = fields.get(name);
    return parent !== undefined && (parent.fieldKind !== 'message' || isKnown(parent.message, rest));
  });
}

/** Whether no field has a name; one that is too deep is not looked for. */
function isUnknown(message: DescMessage, name: string, lenient: boolean): boolean {
  return levelsOf(name) <= MAX_DEPTH && !isKnown(message, entryOf(name, lenient).path);
}

function levelsOf(name: string): number {
  return name.split('.').length;
}

/** The path of a field and, in the syntax of grpc-gateway, a key of a map: `labels[key]`. */
function entryOf(name: string, lenient: boolean): { readonly path: string; readonly key?: string } {
  const bracket = lenient && name.endsWith(']') ? name.lastIndexOf('[') : -1;
  return bracket < 0 ? { path: name } : { path: name.slice(0, bracket), key: name.slice(bracket + 1, -1) };
}

function parameterTarget(
  message: DescMessage,
  name: string,
  lenient: boolean,
): Omit<QueryParameter, 'value'> | undefined {
  const { path, key } = entryOf(name, lenient);
  const target = fieldTarget(message, path);
  if (target === undefined) return undefined;
  const { field } = target;
  if (key === undefined) return hasTextForm(field) ? target : undefined;
  return field.fieldKind === 'map' && hasTextValue(field) ? { ...target, key } : undefined;
}

/** The field with a path of names; a name may have dots itself (`json_name`). */
function fieldTarget(
  message: DescMessage,
  path: string,
  parents: readonly DescField[] = [],
): FieldTarget | undefined {
  const fields = fieldsByName(message);
  const field = fields.get(path);
  if (field !== undefined) return { parents, field };
  for (const [name, rest] of stepsInto(path)) {
    const parent = fields.get(name);
    if (parent?.fieldKind !== 'message' || hasCustomJsonRepresentation(parent.message)) continue;
    const found = fieldTarget(parent.message, rest, [...parents, parent]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The ways to read a path as a name and what follows its dot, the shortest name first. */
function stepsInto(path: string): [name: string, rest: string][] {
  return [...path.matchAll(/\./g)].map(({ index }) => [path.slice(0, index), path.slice(index + 1)]);
}

function decoded(text: string): string | undefined {
  if (NOT_ASCII.test(text)) return undefined;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

// Node decodes non-ASCII bytes as Latin-1, which loses the client's text.
const NOT_ASCII = /[^\x21-\x7e]/;

/** The required fields (proto2) that a message or a message inside it lacks: without them, it cannot be serialized. */
function* missingFields(message: ReflectMessage, path = ''): Generator<FieldViolation> {
  for (const field of message.fields) {
    const place = path + field.name;
    if (message.isSet(field)) {
      for (const [at, inner] of messagesIn(message, field)) yield* missingFields(inner, `${place}${at}.`);
    } else if (field.presence === FeatureSet_FieldPresence.LEGACY_REQUIRED) {
      yield { field: place, description: 'Must be given; got none.' };
    }
  }
}
