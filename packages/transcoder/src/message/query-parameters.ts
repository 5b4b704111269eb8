import type { FieldViolation } from '../failures/failure.js';
import { quote } from '../fields/allowed-value.js';
import type { SentJson } from '../fields/json-value.js';
import { shorten } from '../fields/message-fields.js';
import { textValue } from '../fields/text-value.js';
import { GIVEN_AGAIN, MAX_DEPTH } from '../json/json-parser.js';
import type { Binding } from '../template/binding.js';
import { NOT_UTF8, notAllowed, pathOf } from './field-texts.js';
import { isUnknownParameter, levelsOf, type ParameterTarget, parameterTarget } from './parameter-target.js';

/** A value from the query and the field that takes it. */
export interface QueryParameter extends ParameterTarget {
  /** The name that was sent, cut to the length that a response repeats. */
  readonly name: string;
  /** The JSON form of the value: of the field, of one item of a repeated field, or of the entry of a map. */
  readonly value: SentJson;
}

/** Why a parameter is refused, as a sentence. */
type Refusal = string;

/** Tells a violation from the parameters among which `queryParameters` returns it. */
export function isViolation(result: QueryParameter | FieldViolation): result is FieldViolation {
  return 'description' in result;
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
    const name = decodedText(rawName);
    const isSkipped =
      name !== undefined && isIgnored(name) && isUnknownParameter(binding.method.input, name, lenient);
    if (isSkipped) continue;

    const text = equals < 0 ? '' : decodedText(part.slice(equals + 1));
    const shownName = shorten(name ?? rawName);
    const result = valueOrRefusal(binding, name, text, taken, lenient);
    yield typeof result === 'string'
      ? { field: shownName, description: result }
      : { ...result, name: shownName };
  }
}

const IN_BODY = 'Must be given in the body; got it in the query.';

/**
 * The value of a parameter, or why it is refused.
 *
 * @param name the decoded name; undefined if it cannot be decoded.
 * @param text the decoded value; undefined if it cannot be decoded.
 * @param taken what the parameters before have set, to which this one's own is added: fields, and entries of maps.
 */
function valueOrRefusal(
  binding: Binding,
  name: string | undefined,
  text: string | undefined,
  taken: Set<string>,
  lenient: boolean,
): Omit<QueryParameter, 'name'> | Refusal {
  if (name === undefined || text === undefined) return NOT_UTF8;
  const levels = levelsOf(name, lenient);
  if (levels > MAX_DEPTH) return `Must have at most ${MAX_DEPTH} levels; got ${levels}.`;

  // Such a body has all fields, so that there is none to look for.
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

// Node decodes non-ASCII bytes as Latin-1, which loses the client's text.
const NOT_VISIBLE_ASCII = /[^\x21-\x7e]/;

/** The text of a name or value in a query; undefined if it cannot be decoded. */
function decodedText(text: string): string | undefined {
  if (NOT_VISIBLE_ASCII.test(text)) return undefined;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

/**
 * Returns the function that tells whether a parameter has one of the names.
 *
 * @param names each the name of a parameter or, with a final `*`, a prefix of such names.
 */
export function parameterMatcher(names: readonly string[]): (parameter: string) => boolean {
  const exactNames = new Set(names.filter((name) => !name.endsWith('*')));
  const prefixes = names.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  return (parameter) => exactNames.has(parameter) || prefixes.some((prefix) => parameter.startsWith(prefix));
}
