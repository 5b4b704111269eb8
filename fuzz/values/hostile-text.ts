import type { Random } from './random.js';

/** Texts that software trips over, each short. */
const TRAPS = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\t',
  '\r\nx-injected: 1',
  ' leading',
  'trailing ',
  '\u00a0',
  '\u0085',
  '\u2028',
  '\u202e',
  '\ufeff',
  '\ufffd',
  '\ud800',
  'a\udfff',
  '\udc00\ud800',
  '👩‍👩‍👧',
  '𝒳'.repeat(9),
  'e\u0301',
  'é',
  'ﬁ',
  'İ',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'undefined',
  'NaN',
  '-0',
  '1e999',
  "' OR '1'='1",
  '"; DROP TABLE routes; --',
  '${7*7}',
  '{{7*7}}',
  '%s%n',
  '<script>alert(1)</script>',
  '../../etc/passwd',
  '/',
  '//',
  '/a//b',
  '/.',
  '/a/..',
  '/...',
  '/:',
  '/:1a',
  '/:a/:a',
  '/:a/:b/',
  '/a:b',
  '/%',
  '/%zz',
  '/%00',
  '/%2F',
  '/%ff',
  '/ä',
  '/a b',
  '/a?b',
  '/a#b',
  '/[a]',
  'GE T',
  'get',
  "!#$%&'*+-.^_`|~",
  '\u007f',
  '*',
];
/** Lengths on both sides of the contract's bounds. */
const LENGTHS = [31, 32, 33, 127, 128, 129, 254, 255, 256, 1023, 2047, 2048, 2049, 5_000];
/** The parts of long texts; the last ones have more UTF-16 units or bytes than code points. */
const FILLERS = ['a', '/', '/a', '%41', '\u00e9', '😀'];
const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-~';

/** A text that a careless reader gets wrong. */
export function hostileText(random: Random): string {
  const way = random.below(20);
  if (way < 12) return random.pick(TRAPS);
  if (way < 15) return random.pick(FILLERS).repeat(random.pick(LENGTHS));
  if (way < 18) return random.pick(TRAPS) + random.pick(TRAPS);
  return String.fromCodePoint(...random.list(random.between(1, 8), () => random.below(0x110000)));
}

/** A short word of unreserved characters (RFC 3986, section 2.3). */
export function word(random: Random): string {
  return random.list(random.between(1, 12), () => random.pick(LETTERS)).join('');
}
