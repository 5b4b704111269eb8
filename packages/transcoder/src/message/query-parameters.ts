import type { DescField, DescMessage, JsonValue } from '@bufbuild/protobuf';
import { hasCustomJsonRepresentation } from '@bufbuild/protobuf/wkt';
import { allowedValue, quoted } from '../fields/allowed-value.js';
import type { Binding, FieldTarget } from '../template/binding.js';
import type { FieldViolation } from '../failures/failure.js';
import { fieldsByName, shortened } from '../fields/message-fields.js';
import { MAX_DEPTH } from '../json/json-text.js';
import { hasTextForm, hasTextValue, textValue } from '../fields/text-value.js';

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
 * @returns each parameter, or a violation under the name that was sent; read lazily.
 */
export function* queryParameters(
  binding: Binding,
  query: string,
  lenient: boolean,
): Generator<QueryParameter | FieldViolation, void> {
  const taken = new Set<string>();
  for (const part of query.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const rawName = equals < 0 ? part : part.slice(0, equals);
    const name = decoded(rawName);
    const text = equals < 0 ? '' : decoded(part.slice(equals + 1));
    const parameter = readParameter(binding, name, text, taken, lenient);
    yield typeof parameter === 'string'
      ? { field: shortened(name ?? rawName), description: parameter }
      : parameter;
  }
}

const IN_BODY = 'Must be given in the body; got it in the query.';

/** A parameter, or a sentence that says why it is refused. */
function readParameter(
  binding: Binding,
  name: string | undefined,
  text: string | undefined,
  taken: Set<string>,
  lenient: boolean,
): QueryParameter | string {
  if (name === undefined || text === undefined) {
    return 'Must be percent-encoded UTF-8; got an invalid escape or character.';
  }
  const levels = name.split('.').length;
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
  if (field.fieldKind !== 'list' && taken.has(place)) return 'Must be given once; got it again.';
  taken.add(place);
  const value = textValue(field, text, lenient);
  return value === undefined ? `Must be ${allowedValue(field)}; got ${quoted(text)}.` : { ...target, value };
}

// The syntax of grpc-gateway.
const MAP_ENTRY = /^(.*)\[(.*)\]$/s;

function parameterTarget(
  message: DescMessage,
  name: string,
  lenient: boolean,
): Omit<QueryParameter, 'value'> | undefined {
  const [, map, key] = (lenient ? MAP_ENTRY.exec(name) : undefined) ?? [];
  const target = fieldTarget(message, map ?? name);
  if (target === undefined) return undefined;
  const { field } = target;
  if (map === undefined) return hasTextForm(field) ? target : undefined;
  return field.fieldKind === 'map' && hasTextValue(field) ? { ...target, key } : undefined;
}

function fieldTarget(message: DescMessage, name: string): FieldTarget | undefined {
  const parents: DescField[] = [];
  let container = message;
  const steps = name.split('.');
  for (const step of steps.slice(0, -1)) {
    const parent = fieldsByName(container).get(step);
    if (parent?.fieldKind !== 'message' || hasCustomJsonRepresentation(parent.message)) return undefined;
    parents.push(parent);
    container = parent.message;
  }
  const [last = ''] = steps.slice(-1);
  const field = fieldsByName(container).get(last);
  return field === undefined ? undefined : { parents, field };
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
