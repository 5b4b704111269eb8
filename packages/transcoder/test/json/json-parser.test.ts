import { isDeepStrictEqual } from 'node:util';
import fc from '../support/fast-check.js';
import { describe, expect, it } from 'vitest';
import type { HttpFailure } from '../../src/failures/failure.js';
import {
  isLongNumber,
  isObject,
  isTextFlaw,
  longNumber,
  type SentJson,
  textFlaw,
} from '../../src/fields/json-value.js';
import { parseJson } from '../../src/json/json-parser.js';

/** What texts are made of: most of JSON, and what comes close to it. */
const PIECES = [
  ...['{', '}', '[', ']', ',', ':', '"', '\\', ' ', '\n', '\t\r', '\u00a0', '\u0001', '\u007f', 'é', '📚'],
  ...[
    '""',
    '"a"',
    '"b c"',
    '"é📚"',
    '"\\u0041\\n"',
    '"\\\\"',
    '"\\""',
    '"\\ud83d\\udcda"',
    '"\\x"',
    '"\\u12"',
  ],
  ...['"a":', '"b" :', '"__proto__":', '"constructor":', '{"a":1}', '[1,2]', '{}', '[]', '[[', ']]', '},{'],
  ...[
    '0',
    '-0',
    '-',
    '+1',
    '01',
    '1',
    '12345',
    '999999999999999',
    '1.5',
    '1.',
    '.5',
    '1e5',
    '-2E-3',
    '1e',
    '1e400',
  ],
  ...[
    '9007199254740993',
    '0.1234567890123456789',
    'true',
    'false',
    'null',
    'tru',
    'nulll',
    'NaN',
    '//',
    '0x1',
  ],
];
const nearJson = fc.array(fc.constantFrom(...PIECES), { maxLength: 9 }).map((pieces) => pieces.join(''));
const brokenJson = fc
  .tuple(fc.json({ maxDepth: 3 }), fc.nat(40), fc.constantFrom(...PIECES))
  .map(([text, at, piece]) => text.slice(0, at) + piece + text.slice(at));
const texts = [
  ...fc.sample(nearJson, { seed: 1, numRuns: 145_000 }),
  ...fc.sample(brokenJson, { seed: 1, numRuns: 5_000 }),
];

/** What `JSON.parse` makes of a text; undefined if it refuses the text. */
function reference(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What the parser makes of a text: a value, or why it refuses the text. */
function parsed(text: string): { readonly value?: SentJson; readonly refusal?: string } {
  try {
    return { value: parseJson(text) };
  } catch (error) {
    return { refusal: (error as HttpFailure).text() };
  }
}

/** A value as `JSON.parse` has it, which rounds long numbers and overlooks flaws. */
function asReference(sent: SentJson, read: unknown): unknown {
  if (isTextFlaw(sent)) return read;
  if (isLongNumber(sent)) return Number(sent.text);
  if (Array.isArray(sent)) return sent.map((item, index) => asReference(item, (read as unknown[])[index]));
  if (!isObject(sent)) return sent;
  const members = Object.entries(sent).map(
    ([key, value]) => [key, asReference(value, (read as Record<string, unknown>)[key])] as const,
  );
  return Object.fromEntries(members);
}

const REFUSAL = /^The body is not valid JSON: unexpected (.+) at line ([0-9]+), column ([0-9]+)\.$/;

/** The part of a text before the place that a refusal names, and what the refusal says is there. */
function placeIn(text: string, refusal: string): readonly [before: string, unexpected: string] {
  const [, unexpected = '', line = '', column = ''] = REFUSAL.exec(refusal) ?? [];
  const lines = text.split('\n').slice(0, Number(line));
  const last = Array.from(lines.pop() ?? '').slice(0, Number(column) - 1);
  return [[...lines, last.join('')].join('\n'), unexpected];
}

/** What a text has behind another one with which it begins, as refusals show it. */
function nextIn(text: string, before: string): string {
  const character = text.codePointAt(before.length);
  return character === undefined ? 'end' : JSON.stringify(String.fromCodePoint(character));
}

describe('the parser of JSON, in 150,000 texts', () => {
  const results = texts.map((text) => ({ text, read: reference(text), ...parsed(text) }));
  const accepted = results.filter(({ read }) => read !== undefined);
  const refused = results.filter(({ read }) => read === undefined);
  const textsOf = (some: readonly { readonly text: string }[]): string[] => some.map(({ text }) => text);

  it('meets many of either kind', () => {
    expect(results).toHaveLength(150_000);
    expect(Math.min(accepted.length, refused.length)).toBeGreaterThan(5_000);
  });

  it('takes what JSON.parse takes, as the same values', () => {
    const differing = accepted.filter(
      ({ read, value }) => value === undefined || !isDeepStrictEqual(asReference(value, read), read),
    );
    expect(textsOf(differing)).toEqual([]);
  });

  it('refuses what JSON.parse refuses, and names the character that is there', () => {
    const differing = refused.filter(({ text, refusal = '' }) => {
      const [before, unexpected] = placeIn(text, refusal);
      return !text.startsWith(before) || nextIn(text, before) !== unexpected;
    });
    expect(textsOf(differing)).toEqual([]);
  });

  it('refuses a text at the first place where it cannot go on', () => {
    const differing = refused.filter(({ text, refusal = '' }) => {
      const [before] = placeIn(text, refusal);
      const { refusal: earlier } = parsed(before);
      return earlier !== undefined && placeIn(before, earlier)[1] !== 'end';
    });
    expect(textsOf(differing)).toEqual([]);
  });
});

describe('in place of what JSON.parse would change or hide, the parser has', () => {
  it.each([
    ['a long integer', '9007199254740993'],
    ['a number with an exponent', '1e3'],
    ['an infinite number', '-1e400'],
  ])('%s as it was sent', (_, text) => {
    expect(parseJson(`[${text}]`)).toEqual([longNumber(text)]);
  });

  it.each([
    ['{"a":1,"b":2,"a":3,"a":4}', { a: textFlaw('Must be given once; got it again.'), b: 2 }],
    ['["\\udc00\\ud800"]', [textFlaw('Must have only whole characters; got half of a surrogate pair.')]],
    [
      '{"\\ud800":1}',
      { '\ud800': textFlaw('Must have only whole characters; got half of a surrogate pair.') },
    ],
  ])('why no field takes the value in %s', (text, value) => {
    expect(parseJson(text)).toEqual(value);
  });
});
