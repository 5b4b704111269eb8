import fc, { type Arbitrary } from 'fast-check';
import type { RouteDraft } from './callers.js';
import { at, place, weighted, words } from './draws.js';
import { hostileText, word } from './hostile-text.js';

const FIELDS = words('id method path middleware handler createdAt created_at');
const NUMBERS = [...words('0 -0 1e999 -1 01 1. .5 0x10 NaN Infinity 1e-999'), '9'.repeat(400)];
const CONSTANTS = ['', ...words('null true false nul TRUE')];
const ESCAPES = words(String.raw`\ud800 \udc00\ud800 \u0000 \x41 \u00 \ \/ \ud83d\ude00`);
const TAILS = ['', ' ', '\n', ',', '}', '{}', 'x', '\0', '//', '/* */', '\ufeff'];
const TIMES = ['', ...words('2026-01-01T00:00:00Z 0000-00-00T00:00:00Z 9999-12-31T23:59:60Z 1')];
/** Byte order marks, and bytes that are not UTF-8. */
const MARKS = words('efbbbf feff fffe c080 eda080 f8 00').map((hex) => Buffer.from(hex, 'hex'));

const quoted = hostileText.map((text) => JSON.stringify(text));
const escape = fc.constantFrom(...ESCAPES).map((escaped) => `"${escaped}"`);
/** A JSON value of any type; sometimes invalid JSON. */
const jsonValue = fc.oneof(
  fc.constantFrom(...NUMBERS),
  fc.constantFrom(...CONSTANTS),
  escape,
  quoted,
  fc.json({ maxDepth: 4, stringUnit: 'binary' }),
);
const member = weighted<readonly string[]>(
  [1, fc.tuple(fc.oneof(quoted, fc.constantFrom(...FIELDS.map((name) => `"${name}"`))), jsonValue)],
  [1, fc.constant(['"__proto__"', '{"handler":"polluted"}'])],
  [
    1,
    fc.tuple(word, fc.constantFrom(...TIMES)).map(([id, time]) => ['"id"', `"${id}","createdAt":"${time}"`]),
  ],
).map(([name, value]) => `${name}:${value}`);
const nested = fc
  .tuple(fc.constantFrom(3, 90, 101, 5_000, 30_000), fc.boolean())
  .map(([depth, isList]) =>
    isList ? '['.repeat(depth) + ']'.repeat(depth) : `${'{"middleware":'.repeat(Math.min(depth, 4_000))}1`,
  );

/** Turns a route's JSON into something like ProtoJSON, like JSON, or like neither. */
export const jsonSpoiling: Arbitrary<(draft: RouteDraft) => Buffer> = weighted<
  (text: string) => string | Buffer
>(
  // Additional members at the beginning or the end, which may duplicate others.
  [3, member.map((more) => (text) => `{${more},${text.slice(1)}`)],
  [3, member.map((more) => (text) => `${text.slice(0, -1)},${more}}`)],
  [
    2,
    fc.tuple(fc.oneof(jsonValue, escape), place).map(
      ([value, which]) =>
        (text) =>
          replaceMember(text, value, which),
    ),
  ],
  [
    1,
    fc
      .tuple(fc.constantFrom(...TAILS), fc.constantFrom(...TAILS))
      .map((tails) => (text) => text + tails.join('')),
  ],
  [1, jsonValue.map((value) => () => value)],
  [1, fc.constantFrom(...MARKS).map((mark) => (text) => Buffer.concat([mark, Buffer.from(text)]))],
  [
    1,
    fc
      .constantFrom('utf16le', 'latin1', 'base64')
      .map((as) => (text) => Buffer.from(text, as as BufferEncoding)),
  ],
  [1, place.map((cut) => (text) => text.slice(0, at(cut, text.length)))],
  [1, nested.map((value) => () => value)],
).map((spoil) => (draft) => Buffer.from(spoil(JSON.stringify(draft))));

/** Replaces the value of one member in the text of an object. */
function replaceMember(text: string, value: string, which: number): string {
  const members = [...text.matchAll(/"(?:method|path|middleware|handler)":/g)];
  const { index = 0, 0: name = '' } = members[at(which, members.length)] ?? {};
  const next = text.indexOf(',"', index + name.length);
  return text.slice(0, index + name.length) + value + (next < 0 ? '}' : text.slice(next));
}
