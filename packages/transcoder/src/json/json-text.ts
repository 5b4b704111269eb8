import { ScalarType, type DescField, type JsonValue } from '@bufbuild/protobuf';
import { isWrapperDesc } from '@bufbuild/protobuf/wkt';
import { firstViolations, malformed, type Violation } from '../failures/failure.js';
import type { JsonStep, Place } from '../fields/message-fields.js';

/** How deep objects and arrays may nest in a body. */
export const MAX_DEPTH = 100;

/** How deep messages may nest: as deep as the text, in a request message, with a text form of their own. */
export const RECURSION_LIMIT = MAX_DEPTH + 2;

/**
 * Parses JSON text (RFC 8259) more strictly than `JSON.parse` does: the bytes must be UTF-8 without a
 * byte order mark, no object may have a key twice, strings and keys must be whole Unicode characters,
 * 64-bit integers must not lose digits, and nesting is limited to `MAX_DEPTH`.
 *
 * @param locate finds out what a place in the text belongs to.
 * @throws Failure `REQUEST_MALFORMED`.
 */
export function parseJsonText(bytes: Uint8Array, locate: Locate): JsonValue {
  const text = utf8Text(bytes);
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    throw malformed('The body is not valid JSON.');
  }
  const violations = firstViolations(scan(text, locate));
  if (violations.length > 0) throw malformed('The body is not acceptable JSON.', violations);
  return value;
}

/** Finds out what a place in JSON text belongs to. */
export type Locate = (steps: readonly JsonStep[]) => Place;

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

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]|-?[0-9][0-9.eE+-]*/g;
const LONE_SURROGATE = /\p{Surrogate}/u;
const INTEGER = /^-?[0-9]+$/;

function isRounded(number: string): boolean {
  return INTEGER.test(number) && !Number.isSafeInteger(Number(number));
}

const LONG_INTEGERS: ReadonlySet<ScalarType | undefined> = new Set([
  ScalarType.INT64,
  ScalarType.UINT64,
  ScalarType.SINT64,
  ScalarType.FIXED64,
  ScalarType.SFIXED64,
]);

function isLongInteger(field: DescField | undefined): boolean {
  const valueField = field?.message && isWrapperDesc(field.message) ? field.message.fields[0] : field;
  return LONG_INTEGERS.has(valueField?.scalar);
}

/** An object or array that is open at some point of the text, and the current key or index in it. */
type Open =
  | { readonly kind: 'object'; readonly keys: Set<string>; at: string; keyNext: boolean }
  | { readonly kind: 'array'; at: number };

/** Walks over text that `JSON.parse` took and finds what it lets pass. */
function* scan(text: string, locate: Locate): Generator<Violation> {
  const open: Open[] = [];
  const outside: Open = { kind: 'array', at: 0 };
  const place = (): Place => locate(open.map(({ at }) => at));
  const here = (description: string): Violation => ({ field: place().path, description });
  for (const [token] of text.matchAll(TOKEN)) {
    const inner = open.at(-1) ?? outside;
    if (token === '{') {
      open.push({ kind: 'object', keys: new Set(), at: '', keyNext: true });
    } else if (token === '[') {
      open.push({ kind: 'array', at: 0 });
    } else if (token === '}' || token === ']') {
      open.pop();
    } else if (token.startsWith('"')) {
      const content = token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1);
      if (inner.kind === 'object' && inner.keyNext) {
        inner.at = content;
        inner.keyNext = false;
        if (inner.keys.has(content)) yield here('Came more than once; a key is allowed once in an object.');
        inner.keys.add(content);
      }
      if (LONE_SURROGATE.test(content))
        yield here('Holds half a surrogate pair; only whole characters are allowed.');
    } else if (token !== ',') {
      if (isRounded(token) && isLongInteger(place().field)) {
        yield here('Got a number with more digits than JSON numbers keep; a string of digits is allowed.');
      }
    } else if (inner.kind === 'object') {
      inner.keyNext = true;
    } else {
      inner.at += 1;
    }
    if (open.length > MAX_DEPTH) throw malformed(`The body nests deeper than ${MAX_DEPTH} levels.`);
  }
}
