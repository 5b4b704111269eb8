import {
  type DescField,
  type JsonObject,
  type JsonValue,
  type Message,
  type Registry,
  toBinary,
} from '@bufbuild/protobuf';
import { reflect } from '@bufbuild/protobuf/reflect';
import { allowedValue, quoted } from '../fields/allowed-value.js';
import type { Binding, BoundVariable, FieldTarget } from '../template/binding.js';
import { misfit, type FieldViolation } from '../failures/failure.js';
import { isObject, memberOf } from '../fields/json-object.js';
import { fieldsByName } from '../fields/message-fields.js';
import type { ReadingOptions } from '../json/json-options.js';
import { JsonViolations } from '../json/json-violations.js';
import { variableValue } from '../template/path-template.js';
import { impliedMask, setImpliedMask } from './implied-mask.js';
import { missingFields } from './missing-fields.js';
import { queryParameters, type QueryParameter } from './query-parameters.js';
import { StrictJson } from '../json/strict-json.js';
import { textValue } from '../fields/text-value.js';

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
  readonly #strict: StrictJson;
  readonly #jsonViolations: JsonViolations;

  constructor(registry: Registry, options: ReadingOptions = {}) {
    this.#lenient = options.lenient === true;
    this.#strict = new StrictJson(registry, options);
    this.#jsonViolations = new JsonViolations(registry, options);
  }

  /**
   * The request message of a call.
   *
   * @throws Failure `REQUEST_MALFORMED` with every violation.
   */
  read(binding: Binding, parts: RequestParts): Message {
    // First, since the next step changes the body in place.
    const mask = this.#lenient ? impliedMask(binding, parts.body) : undefined;
    const message = this.#joined(binding, parts);
    if (mask !== undefined) setImpliedMask(message, mask);
    return message;
  }

  #joined(binding: Binding, parts: RequestParts): Message {
    const { input } = binding.method;
    const json = startingJson(binding, parts.body);
    const outside = this.#bindOutside(binding, json, parts);
    const { done, value } = outside.next();
    if (done !== true) throw misfit(joined([value], outside, this.#violationsInside(binding, json)));
    try {
      return this.#strict.read(input, json);
    } catch {
      throw misfit(unwrapping(binding, this.#jsonViolations.find(input, json)));
    }
  }

  /**
   * The binary form of a request message.
   *
   * @throws Failure `REQUEST_MALFORMED` with every field that the contract requires and the message lacks (proto2).
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
    for (const found of queryParameters(binding, parts.query, this.#lenient)) {
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

function* joined(...all: readonly Iterable<FieldViolation>[]): Generator<FieldViolation> {
  for (const each of all) yield* each;
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
  if (text === undefined) return refuse('Must be percent-encoded UTF-8; got an invalid escape or character.');
  const value = textValue(field, text);
  if (value === undefined) return refuse(`Must be ${allowedValue(field)}; got ${quoted(text)}.`);
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
  holder[key] = value;
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
  const { jsonName: key } = field;
  if (field.fieldKind === 'list') holder[key] = [...((memberOf(holder, key) ?? []) as JsonValue[]), value];
  else if (entry !== undefined) holder[key] = { ...(memberOf(holder, key) as JsonObject), [entry]: value };
  else holder[key] = value;
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
    holder[key] = next;
    holder = next;
  }
  return isObject(holder) ? holder : {};
}

/** The name under which an object has a field, or will have it. */
function keyOf(holder: JsonObject, { name, jsonName }: DescField): string {
  return Object.hasOwn(holder, name) ? name : jsonName;
}
