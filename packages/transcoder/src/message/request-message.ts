import { type DescField, type DescMessage, type Message, type Registry, toBinary } from '@bufbuild/protobuf';
import { type ReflectMessage, reflect } from '@bufbuild/protobuf/reflect';
import { FeatureSet_FieldPresence, hasCustomJsonRepresentation } from '@bufbuild/protobuf/wkt';
import { joinViolations, type FieldViolation, invalidFields } from '../failures/failure.js';
import { allowedValue, quote } from '../fields/allowed-value.js';
import { isObject, memberOf, type SentJson } from '../fields/json-value.js';
import { fieldsByName, keyOf, messagesIn, shorten } from '../fields/message-fields.js';
import { hasTextForm, hasTextValue, textValue } from '../fields/text-value.js';
import { rivalDescription, StrictJson } from '../json/json-input.js';
import type { ReadingOptions } from '../json/json-options.js';
import { GIVEN_AGAIN, MAX_DEPTH } from '../json/json-parser.js';
import { Violations } from '../json/violations.js';
import { impliedMask, setImpliedMask } from './implied-mask.js';
import type { Binding, BoundVariable, FieldTarget } from '../template/binding.js';
import { variableValue } from '../template/path-template.js';

/** The parts of an HTTP request that form a request message. */
interface RequestParts {
  /** The segments of the path, as the look-up returned them. */
  readonly segments: readonly string[];
  readonly query: string;
  /** The JSON value of the body; undefined for a binding without a body. */
  readonly body: SentJson | undefined;
}

/** Reads the body of a request into its message, and then path and query, which set other fields of the same message. */
export class RequestMessages {
  readonly #lenient: boolean;
  readonly #isIgnored: (parameter: string) => boolean;
  readonly #bodies: StrictJson;
  /** Reads values of path and query, where masks may have names in snake_case, as clients of grpc-gateway send them. */
  readonly #texts: StrictJson;

  /**
   * @param ignored the query parameters that are ignored if no field has them; a final `*` makes a prefix. Default: none,
   *   and all with `lenient`.
   */
  constructor(registry: Registry, options: ReadingOptions = {}, ignored: Iterable<string> = []) {
    this.#lenient = options.lenient === true;
    this.#isIgnored = this.#lenient ? () => true : parameterMatcher([...ignored]);
    this.#bodies = new StrictJson(registry, options);
    this.#texts = new StrictJson(registry, { lenient: true });
  }

  /**
   * The request message of a call.
   *
   * @throws HttpFailure `REQUEST_MALFORMED` with every violation, those of path and query first.
   */
  read(binding: Binding, parts: RequestParts): Message {
    const inBody = new Violations();
    const request = this.#withBody(binding, parts.body, inBody);

    // This first step sets every field that path and query give, unless one of them is wrong.
    const outside = this.#setOutside(request, binding, parts, inBody.count === 0);
    const { done, value } = outside.next();
    if (done !== true)
      throw invalidFields(joinViolations([value], outside, violationsWithHints(binding, inBody)));
    if (inBody.count > 0) throw invalidFields(violationsWithHints(binding, inBody));

    const mask = this.#lenient ? impliedMask(binding, parts.body) : undefined;
    if (mask !== undefined) setImpliedMask(request.message, mask);
    return request.message;
  }

  /** The request message with the fields that the body gives. */
  #withBody({ method, body }: Binding, json: SentJson | undefined, found: Violations): ReflectMessage {
    if (json !== undefined && body === '*') return this.#bodies.readMessage(method.input, json, found);
    const request = reflect(method.input);
    if (json !== undefined && typeof body === 'object') this.#bodies.readField(request, body, json, found);
    return request;
  }

  /**
   * Sets the fields that path and query give, lazily: after the first violation, only as far as the violations are read.
   *
   * @param isBodyValid whether the request has all that the body gives: only then can it be compared with the path.
   */
  *#setOutside(
    request: ReflectMessage,
    binding: Binding,
    { segments, query, body }: RequestParts,
    isBodyValid: boolean,
  ): Generator<FieldViolation, void> {
    const requestJson = requestJsonOf(binding, body);
    for (const variable of binding.variables) {
      const violation = this.#setVariable(request, variable, segments, requestJson, isBodyValid);
      if (violation !== undefined) yield violation;
    }
    for (const parameter of queryParameters(binding, query, this.#lenient, this.#isIgnored)) {
      const isRefused = 'description' in parameter;
      const violation = isRefused ? parameter : this.#setParameter(request, parameter, requestJson);
      if (violation !== undefined) yield violation;
    }
  }

  #setVariable(
    request: ReflectMessage,
    variable: BoundVariable,
    segments: readonly string[],
    requestJson: SentJson | undefined,
    isBodyValid: boolean,
  ): FieldViolation | undefined {
    const { field, fieldPath } = variable;
    const name = fieldPath.join('.');
    const text = variableValue(variable, segments);
    if (text === undefined) return { field: name, description: NOT_UTF8 };
    const value = textValue(field, text);
    if (value === undefined) return { field: name, description: notAllowed(field, text) };

    if (!isIn(requestJson, variable))
      return refusedMember(request, variable, requestJson) ?? this.#set(request, variable, name, value);
    return isBodyValid ? this.#repeat(request, variable, name, value) : undefined;
  }

  #setParameter(
    request: ReflectMessage,
    parameter: QueryParameter,
    requestJson: SentJson | undefined,
  ): FieldViolation | undefined {
    const { parents, field, key = '', name, value } = parameter;
    const refused = refusedMember(request, parameter, requestJson);
    if (refused !== undefined) return refused;
    if (field.fieldKind !== 'map')
      return this.#set(request, parameter, name, field.fieldKind === 'list' ? [value] : value);
    const entry = `${pathOf([...parents, field])}[${shorten(key)}]`;
    return this.#set(request, parameter, entry, { [key]: value });
  }

  /**
   * Sets a field, or adds to it, in the messages that lead to it.
   *
   * @param name the name that a violation has.
   */
  #set(
    request: ReflectMessage,
    { parents, field }: FieldTarget,
    name: string,
    json: SentJson,
  ): FieldViolation | undefined {
    const found = new Violations();
    let holder = request;
    for (const parent of parents) {
      if (!holder.isSet(parent)) this.#texts.readField(holder, parent, {}, found);
      holder = holder.get(parent) as ReflectMessage;
    }
    this.#texts.readField(holder, field, json, found);
    const description = found.firstDescription();
    return description === undefined ? undefined : { field: name, description };
  }

  /** Sets a field that the body has set: the path may repeat the body, but not contradict it. */
  #repeat(
    request: ReflectMessage,
    target: FieldTarget,
    name: string,
    json: SentJson,
  ): FieldViolation | undefined {
    const inBody = textOf(request, target);
    const refused = this.#set(request, target, name, json);
    if (refused !== undefined || textOf(request, target) === inBody) return refused;
    return {
      field: name,
      description: 'Must be the same in the path and in the body; got different values.',
    };
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
      throw invalidFields(missingFields(reflect(method.input, message)));
    }
  }
}

/**
 * The violations of the body, some with a hint. If the body is one field of the request but holds that field by name, as in a gRPC request, the
 * violation also explains what the body is.
 */
function* violationsWithHints(
  { body }: Binding,
  violations: Iterable<FieldViolation>,
): Generator<FieldViolation> {
  const wrappers = typeof body === 'object' && body.fieldKind === 'message' ? wrappersOf(body) : [];
  for (const violation of violations) {
    if (typeof body !== 'object' || !wrappers.includes(violation.field)) yield violation;
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

/** The JSON form of the request message, as far as the body gives it. */
function requestJsonOf({ body }: Binding, json: SentJson | undefined): SentJson | undefined {
  return typeof body === 'object' && json !== undefined ? { [body.jsonName]: json } : json;
}

/** Whether the JSON form of a request message gives a field a value. */
function isIn(requestJson: SentJson | undefined, { parents, field }: FieldTarget): boolean {
  if (requestJson === undefined) return false;
  const value = [...parents, field].reduce(memberFor, requestJson);
  return value !== undefined && value !== null;
}

/** The member of an object that gives a field; undefined if there is none. */
function memberFor(json: SentJson | undefined, field: DescField): SentJson | undefined {
  return isObject(json) ? memberOf(json, keyOf(json, field)) : undefined;
}

/**
 * The violation of a field that cannot be set, since it or a message that leads to it is a member of a oneof of which the
 * request has another member.
 *
 * @param requestJson the JSON form of the request, as far as the body gives it.
 */
function refusedMember(
  request: ReflectMessage,
  { parents, field }: FieldTarget,
  requestJson: SentJson | undefined,
): FieldViolation | undefined {
  if (field.oneof === undefined && parents.every(({ oneof }) => oneof === undefined)) return undefined;
  const steps = [...parents, field];
  let holder = request;
  let inBody = requestJson;
  for (const [index, step] of steps.entries()) {
    const rival = rivalOf(step, holder, inBody);
    if (rival !== undefined)
      return { field: pathOf(steps.slice(0, index + 1)), description: rivalDescription(rival) };
    holder = holder.get(step) as ReflectMessage;
    inBody = memberFor(inBody, step);
  }
  return undefined;
}

/** The name of another member of a field's oneof that a message has, or that the body gives it; undefined if there is none. */
function rivalOf(field: DescField, holder: ReflectMessage, inBody: SentJson | undefined): string | undefined {
  if (field.oneof === undefined) return undefined;
  const isRival = (other: DescField | undefined): boolean => other?.oneof === field.oneof && other !== field;
  const fields = fieldsByName(field.parent);
  // With `ignoreUnknown`, the message need not have what the body gives.
  const sent = isObject(inBody) ? Object.entries(inBody) : [];
  const [name] = sent.find(([key, value]) => isRival(fields.get(key)) && value !== null) ?? [];
  const member = holder.oneofCase(field.oneof);
  return name ?? (isRival(member) ? member?.jsonName : undefined);
}

/** The scalar or enum value of a field, as text. */
function textOf(request: ReflectMessage, { parents, field }: FieldTarget): string {
  const holder = parents.reduce((outer, parent) => outer.get(parent) as ReflectMessage, request);
  const value: unknown = holder.get(field);
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value);
}

/** The path of a field in proto names. */
function pathOf(steps: readonly DescField[]): string {
  return steps.map(({ name }) => name).join('.');
}

/** A value from the query and the field that takes it. */
export interface QueryParameter extends FieldTarget {
  /** The name that was sent, cut to the length that a response repeats. */
  readonly name: string;
  /** The JSON form of the value, of one item of a repeated field, or of the value of a key in a map. */
  readonly value: SentJson;
  /** The key in a map. */
  readonly key?: string | undefined;
}

/**
 * Reads the query of a request by the rules in google/api/http.proto: a parameter has the path of a request field that
 * is in neither the path nor the body, in proto names or JSON names. Text is decoded as
 * `application/x-www-form-urlencoded`, except that broken escapes and text that is not UTF-8 are refused.
 *
 * @param lenient whether `labels[a]=b` is a parameter for a map.
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
    const name = decodeText(rawName);
    if (name !== undefined && isIgnored(name) && isUnknown(binding.method.input, name, lenient)) continue;
    const text = equals < 0 ? '' : decodeText(part.slice(equals + 1));
    const shown = shorten(name ?? rawName);
    const parameter = readParameter(binding, name, text, taken, lenient);
    yield typeof parameter === 'string'
      ? { field: shown, description: parameter }
      : { ...parameter, name: shown };
  }
}

/**
 * Returns the function that tells whether a parameter has one of the names.
 *
 * @param names each the name of a parameter or, with a final `*`, a prefix of such names.
 */
function parameterMatcher(names: readonly string[]): (parameter: string) => boolean {
  const single = new Set(names);
  const prefixes = names.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  return (parameter) => single.has(parameter) || prefixes.some((prefix) => parameter.startsWith(prefix));
}

const IN_BODY = 'Must be given in the body; got it in the query.';
const NOT_UTF8 = 'Must be percent-encoded UTF-8; got an invalid escape or character.';

function notAllowed(field: DescField, text: string): string {
  return `Must be ${allowedValue(field)}; got ${quote(text)}.`;
}

/**
 * A parameter, or a sentence that says why it is refused.
 *
 * @param taken the places of the parameters before, to which the parameter's own is added: a field, or an entry of a map.
 */
function readParameter(
  binding: Binding,
  name: string | undefined,
  text: string | undefined,
  taken: Set<string>,
  lenient: boolean,
): Omit<QueryParameter, 'name'> | string {
  if (name === undefined || text === undefined) return NOT_UTF8;
  const levels = levelsOf(name);
  if (levels > MAX_DEPTH) return `Must have at most ${MAX_DEPTH} levels; got ${levels}.`;

  if (binding.body === '*') return IN_BODY;
  const target = parameterTarget(binding.method.input, name, lenient);
  if (target === undefined) return `Must be a known parameter; got ${quote(name)}.`;

  const { parents, field, key } = target;
  if ((parents[0] ?? field) === binding.body) return IN_BODY;
  const path = pathOf([...parents, field]);
  if (binding.variables.some(({ fieldPath }) => fieldPath.join('.') === path)) {
    return 'Must be given in the path; got it in the query.';
  }

  const place = key === undefined ? path : `${path}[${key}]`;
  if (field.fieldKind !== 'list' && taken.has(place)) return GIVEN_AGAIN;
  taken.add(place);

  const value = textValue(field, text);
  return value === undefined ? notAllowed(field, text) : { ...target, value };
}

/**
 * Whether a name is that of a field, also of a field that takes no value from a query, or leads into a field that has no
 * fields (`labels.a`).
 */
function isKnown(message: DescMessage, path: string): boolean {
  const fields = fieldsByName(message);
  if (fields.has(path)) return true;
  for (const [name, rest] of stepsInto(path)) {
    const parent = fields.get(name);
    if (parent !== undefined && (parent.fieldKind !== 'message' || isKnown(parent.message, rest)))
      return true;
  }
  return false;
}

/** Whether no field has a name; a name that is too deep is not looked up. */
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
): Omit<QueryParameter, 'name' | 'value'> | undefined {
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
function* stepsInto(path: string): Generator<[name: string, rest: string]> {
  for (let dot = path.indexOf('.'); dot >= 0; dot = path.indexOf('.', dot + 1))
    yield [path.slice(0, dot), path.slice(dot + 1)];
}

function decodeText(text: string): string | undefined {
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
