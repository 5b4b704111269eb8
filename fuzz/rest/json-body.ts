import { hostileText, word } from '../values/hostile-text.js';
import type { Random } from '../values/random.js';
import type { RouteDraft } from '../values/route-draft.js';

const FIELDS = ['id', 'method', 'path', 'middleware', 'handler', 'createdAt', 'created_at'];
const NUMBERS = [
  '0',
  '-0',
  '1e999',
  '-1',
  '01',
  '1.',
  '.5',
  '9'.repeat(400),
  '0x10',
  'NaN',
  'Infinity',
  '1e-999',
];
const ESCAPES = ['\\ud800', '\\udc00\\ud800', '\\u0000', '\\x41', '\\u00', '\\', '\\/', '\\ud83d\\ude00'];
const TAILS = ['', ' ', '\n', ',', '}', '{}', 'x', '\0', '//', '/* */', '\ufeff'];
const DEPTHS = [3, 90, 101, 5_000, 30_000];

/** The body of a create as text: something like ProtoJSON, or like JSON, or like neither. */
export function jsonBody(draft: RouteDraft, random: Random): Buffer {
  const text = JSON.stringify(draft);
  switch (random.below(12)) {
    case 0:
      return Buffer.from(
        withFields(text, `${JSON.stringify(hostileText(random))}:${jsonValue(random, 2)}`, random),
      );
    case 1:
      return Buffer.from(withFields(text, `"${random.pick(FIELDS)}":${jsonValue(random, 2)}`, random));
    case 2:
      return Buffer.from(withFields(text, '"__proto__":{"handler":"polluted"}', random));
    case 3:
      return Buffer.from(replacedValue(text, jsonValue(random, 3), random));
    case 4:
      return Buffer.from(replacedValue(text, `"${random.pick(ESCAPES)}"`, random));
    case 5:
      return Buffer.from(text + random.pick(TAILS) + random.pick(TAILS));
    case 6:
      return Buffer.from(jsonValue(random, 4));
    case 7:
      return Buffer.concat([random.pick(MARKS), Buffer.from(text)]);
    case 8:
      return Buffer.from(text, random.pick(['utf16le', 'latin1', 'base64'] as const));
    case 9:
      return Buffer.from(text.slice(0, random.below(text.length)));
    case 10:
      return Buffer.from(
        withFields(text, `"id":"${word(random)}","createdAt":"${random.pick(TIMES)}"`, random),
      );
    default:
      return Buffer.from(nested(random));
  }
}

/** Byte order marks, and bytes that are not UTF-8. */
const MARKS = ['efbbbf', 'feff', 'fffe', 'c080', 'eda080', 'f8', '00'].map((hex) => Buffer.from(hex, 'hex'));
const TIMES = ['2026-01-01T00:00:00Z', '0000-00-00T00:00:00Z', '9999-12-31T23:59:60Z', '', '1'];

/** A JSON value of any type, now and then of none. */
function jsonValue(random: Random, depth: number): string {
  switch (random.below(depth > 0 ? 8 : 6)) {
    case 0:
      return random.pick(NUMBERS);
    case 1:
      return random.pick(['null', 'true', 'false', 'nul', 'TRUE', '']);
    case 2:
      return `"${random.pick(ESCAPES)}"`;
    case 6:
      return `[${random.list(random.below(4), () => jsonValue(random, depth - 1)).join(',')}]`;
    case 7:
      return `{${random
        .list(random.below(4), () => `${JSON.stringify(hostileText(random))}:${jsonValue(random, depth - 1)}`)
        .join(',')}}`;
    default:
      return JSON.stringify(hostileText(random));
  }
}

function nested(random: Random): string {
  const depth = random.pick(DEPTHS);
  return random.percent(50)
    ? '['.repeat(depth) + ']'.repeat(depth)
    : `${'{"middleware":'.repeat(Math.min(depth, 4_000))}1`;
}

/** The object's text with further members at its beginning or end, where they may double one. */
function withFields(text: string, members: string, random: Random): string {
  return random.percent(50) ? `{${members},${text.slice(1)}` : `${text.slice(0, -1)},${members}}`;
}

/** The object's text with another value for one member. */
function replacedValue(text: string, value: string, random: Random): string {
  const members = [...text.matchAll(/"(?:method|path|middleware|handler)":/g)];
  const { index, 0: name } = random.pick(members);
  const next = text.indexOf(',"', index + name.length);
  return text.slice(0, index + name.length) + value + (next < 0 ? '}' : text.slice(next));
}
