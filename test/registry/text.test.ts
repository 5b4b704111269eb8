import { describe, expect, it } from 'vitest';
import { quote } from '../../src/registry/text.js';

describe('a value quoted in a message', () => {
  it.each([
    ['is in quotes', 'aé😀', '"aé😀"'],
    ['has its own quotes and backslashes escaped', String.raw`a"\u{7}`, String.raw`"a\"\\u{7}"`],
    ['has control characters escaped', 'a\n\u001b\u009b', String.raw`"a\u{a}\u{1b}\u{9b}"`],
    ['has bidirectional control characters escaped', 'a\u202eb', String.raw`"a\u{202e}b"`],
    [
      'has an invisible character beyond U+FFFF escaped as one code point',
      '\u{e0001}1',
      String.raw`"\u{e0001}1"`,
    ],
    ['has lone surrogates escaped', 'a\ud83db', String.raw`"a\u{d83d}b"`],
    ['has 40 characters in full', '😀'.repeat(40), `"${'😀'.repeat(40)}"`],
    ['is truncated after 40 characters', '😀'.repeat(41), `"${'😀'.repeat(40)}…"`],
  ])('%s', (_, text, shown) => {
    expect(quote(text)).toBe(shown);
  });
});
