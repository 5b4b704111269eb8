import { type Message, type Registry, toBinary } from '@bufbuild/protobuf';
import { type ReflectMessage, reflect } from '@bufbuild/protobuf/reflect';
import { type FieldViolation, internal, invalidFields, joinViolations } from '../failures/failure.js';
import type { SentJson } from '../fields/json-value.js';
import { shorten } from '../fields/message-fields.js';
import { textValue } from '../fields/text-value.js';
import { StrictJson } from '../json/json-input.js';
import type { ReadingOptions } from '../json/json-options.js';
import { Violations } from '../json/violations.js';
import type { Binding, BoundVariable, FieldTarget } from '../template/binding.js';
import { variableValue } from '../template/path-template.js';
import { bodyAsRequest, bodySets } from './body-as-request.js';
import { NOT_UTF8, notAllowed, pathOf } from './field-texts.js';
import { impliedMask, setImpliedMask } from './implied-mask.js';
import { missingFields } from './missing-fields.js';
import { withNestedBodyHint } from './nested-body-hint.js';
import { oneofViolation } from './oneof-violation.js';
import { isViolation, parameterMatcher, type QueryParameter, queryParameters } from './query-parameters.js';

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
  readonly #bodyReader: StrictJson;
  /** Reads values of path and query, where masks may have names in snake_case, as clients of grpc-gateway send them. */
  readonly #textReader: StrictJson;

  /**
   * @param ignored the query parameters that are ignored if no field has them; a final `*` makes a prefix. Default: none,
   *   and all with `lenient`.
   */
  constructor(registry: Registry, options: ReadingOptions = {}, ignored: Iterable<string> = []) {
    this.#lenient = options.lenient === true;
    this.#isIgnored = this.#lenient ? () => true : parameterMatcher([...ignored]);
    this.#bodyReader = new StrictJson(registry, options);
    this.#textReader = new StrictJson(registry, { lenient: true });
  }

  /**
   * The request message of a call.
   *
   * @throws HttpFailure `REQUEST_MALFORMED` with every violation, those of path and query first.
   */
  read(binding: Binding, parts: RequestParts): Message {
    const bodyViolations = new Violations();
    const request = this.#withBody(binding, parts.body, bodyViolations);
    const isBodyValid = bodyViolations.count === 0;

    // `next()` runs the generator to its end, by which all fields are set, or to the first violation. What remains then is
    // read only to report more violations.
    const laterViolations = this.#setPathAndQuery(request, binding, parts, isBodyValid);
    const first = laterViolations.next();
    const allFieldsAreSet = first.done === true;
    if (!allFieldsAreSet) {
      const ofBody = withNestedBodyHint(binding, bodyViolations);
      throw invalidFields(joinViolations([first.value], laterViolations, ofBody));
    }
    if (!isBodyValid) throw invalidFields(withNestedBodyHint(binding, bodyViolations));

    const mask = this.#lenient ? impliedMask(binding, parts.body) : undefined;
    if (mask !== undefined) setImpliedMask(request.message, mask);
    return request.message;
  }

  /**
   * The binary form of a request message.
   *
   * @throws HttpFailure `REQUEST_MALFORMED` with every field that the contract requires and the message lacks (proto2), or
   *   `INTERNAL` if it lacks none.
   */
  encode({ method }: Binding, message: Message): Uint8Array {
    try {
      return toBinary(method.input, message);
    } catch (error) {
      const missing = missingFields(reflect(method.input, message));
      const first = missing.next();
      throw first.done === true ? internal(error) : invalidFields(joinViolations([first.value], missing));
    }
  }

  /** The request message with the fields that the body gives. */
  #withBody({ method, body }: Binding, json: SentJson | undefined, violations: Violations): ReflectMessage {
    if (json !== undefined && body === '*') {
      return this.#bodyReader.readMessage(method.input, json, violations);
    }

    const request = reflect(method.input);
    if (json !== undefined && typeof body === 'object') {
      this.#bodyReader.readField(request, body, json, violations);
    }
    return request;
  }

  /**
   * Sets the fields that path and query give, and yields what is wrong. Runs only as far as its violations are read.
   *
   * @param isBodyValid whether the request has all that the body gives: only then can it be compared with the path.
   */
  *#setPathAndQuery(
    request: ReflectMessage,
    binding: Binding,
    { segments, query, body }: RequestParts,
    isBodyValid: boolean,
  ): Generator<FieldViolation, void> {
    // The JSON of the whole request, as far as the body gives it.
    const requestJson = bodyAsRequest(binding, body);
    for (const variable of binding.variables) {
      const violation = this.#setVariable(request, variable, segments, requestJson, isBodyValid);
      if (violation !== undefined) yield violation;
    }
    for (const parameter of queryParameters(binding, query, this.#lenient, this.#isIgnored)) {
      const violation = isViolation(parameter)
        ? parameter
        : this.#setParameter(request, parameter, requestJson);
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

    if (!bodySets(requestJson, variable)) {
      return oneofViolation(request, variable, requestJson) ?? this.#set(request, variable, name, value);
    }
    // A broken body cannot be compared.
    return isBodyValid ? this.#setSameAsBody(request, variable, name, value) : undefined;
  }

  #setParameter(
    request: ReflectMessage,
    parameter: QueryParameter,
    requestJson: SentJson | undefined,
  ): FieldViolation | undefined {
    const { parents, field, key = '', name, value } = parameter;
    const violation = oneofViolation(request, parameter, requestJson);
    if (violation !== undefined) return violation;

    if (field.fieldKind !== 'map') {
      return this.#set(request, parameter, name, field.fieldKind === 'list' ? [value] : value);
    }
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
    const violations = new Violations();
    let holder = request;
    for (const parent of parents) {
      // An empty object creates the message.
      if (!holder.isSet(parent)) this.#textReader.readField(holder, parent, {}, violations);
      holder = holder.get(parent) as ReflectMessage;
    }
    this.#textReader.readField(holder, field, json, violations);
    const description = violations.firstDescription();
    return description === undefined ? undefined : { field: name, description };
  }

  /** Sets a field that the body has set, too: the path may repeat the body, but not contradict it. */
  #setSameAsBody(
    request: ReflectMessage,
    target: FieldTarget,
    name: string,
    json: SentJson,
  ): FieldViolation | undefined {
    const valueInBody = textOf(request, target);
    const violation = this.#set(request, target, name, json);
    if (violation !== undefined || textOf(request, target) === valueInBody) return violation;
    return {
      field: name,
      description: 'Must be the same in the path and in the body; got different values.',
    };
  }
}

/** The scalar or enum value of a field, as text. */
function textOf(request: ReflectMessage, { parents, field }: FieldTarget): string {
  const holder = parents.reduce((outer, parent) => outer.get(parent) as ReflectMessage, request);
  const value: unknown = holder.get(field);
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value);
}
