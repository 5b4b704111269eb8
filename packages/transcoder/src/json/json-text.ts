import { type DescField, type JsonValue, type Registry, ScalarType } from '@bufbuild/protobuf';
import {
  concatenated,
  type FieldViolation,
  firstViolations,
  HttpFailure,
  malformed,
  misfit,
} from '../failures/failure.js';
import { allowedScalar, allowedValue } from '../fields/allowed-value.js';
import { pathOf, type Place, placeIn, shortened } from '../fields/message-fields.js';
import { literalValue } from '../fields/text-value.js';
import { syntaxError } from './json-syntax.js';

/**
 * The maximum nesting of objects and arrays in a body. One level may be two messages (a `google.protobuf.Value` and its
 * list, an Any and its content), and protobuf parsers allow 100 levels by default, so every accepted message can be
 * returned.
 */
export const MAX_DEPTH = 48;

/** The description of a key or a parameter that is repeated. */
export const GIVEN_AGAIN = 'Must be given once; got it again.';

const HALF_CHARACTER = 'Must have only whole characters; got half of a surrogate pair.';

/**
 * Parses JSON text (RFC 8259) more strictly than `JSON.parse` does: the bytes must be UTF-8 without a byte order mark,
 * no object may repeat a key, strings and keys must not contain lone surrogates, numbers must be finite, and nesting is
 * limited to `MAX_DEPTH`. A 64-bit integer that a JavaScript number cannot hold becomes a string of its digits.
 *
 * @param locate returns the place of the whole value, from which inner places are found.
 * @throws HttpFailure `REQUEST_MALFORMED`.
 */
export function parseJsonText(bytes: Uint8Array, registry: Registry, locate: Locate): JsonValue {
  const text = utf8Text(bytes);
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    // Finding the place costs ten times as much as `JSON.parse`, and nobody is told it whom the guard refuses.
    throw new HttpFailure('REQUEST_MALFORMED', 'The body is not valid JSON', {
      ending: () => `: ${syntaxError(text)}.`,
    });
  }
  const integers: LongInteger[] = [];
  const violations = scan(text, registry, () => locate(value), integers);
  const first = violations.next();
  // At once, since the scan itself may refuse the text.
  if (first.done !== true) throw misfit(firstViolations(concatenated([first.value], violations)));
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
function* scan(
  text: string,
  registry: Registry,
  locate: () => Place,
  integers: LongInteger[],
): Generator<FieldViolation, void> {
  const open: Open[] = [];
  const outside: Open = { kind: 'array', at: 0 };
  const here = (depth = open.length): Place => {
    const holder = open[depth - 1];
    if (holder === undefined) return locate();
    holder.place ??= here(depth - 1);
    return placeIn(registry, holder.place, holder.at);
  };
  let inner = outside as Open;
  // Character by character: matching a pattern for each token would take three times as long.
  for (let start = 0, end = 0; start < text.length; start = end) {
    const first = text.charAt(start);
    end = start + 1;
    if (first === '{' || first === '[') {
      inner =
        first === '[' ? { kind: 'array', at: 0 } : { kind: 'object', keys: new Set(), at: '', keyNext: true };
      if (open.push(inner) > MAX_DEPTH)
        throw malformed(`The body is nested deeper than ${MAX_DEPTH} levels.`);
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
        if (inner.keys.has(content)) yield { field: pathOf(here()), description: GIVEN_AGAIN };
        inner.keys.add(content);
      }
      if (LONE_SURROGATE.test(content)) yield { field: pathOf(here()), description: HALF_CHARACTER };
    } else if (first === '-' || (first >= '0' && first <= '9')) {
      NUMBER.lastIndex = start;
      NUMBER.test(text);
      end = NUMBER.lastIndex;
      const token = text.slice(start, end);
      if (!isRounded(token)) continue;
      const place = here();
      const { field } = place;
      const value = literalValue(field, token);
      if (value === undefined)
        yield { field: pathOf(place), description: `Must be ${allowedAt(field)}; got ${shortened(token)}.` };
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

function allowedAt(field: DescField | undefined): string {
  return field === undefined ? allowedScalar(ScalarType.DOUBLE) : allowedValue(field);
}
