import fc from 'fast-check';
import { weighted, words } from './draws.js';

/** Empty, whitespace and control characters, and a line break that adds a header. */
const BLANK_AND_CONTROL = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\t',
  '\r\nx-injected: 1',
  ' leading',
  'trailing ',
  '\u007f',
  '\u0085',
];
/** Characters that cannot be seen, and lone surrogates. */
const INVISIBLE = ['\u00a0', '\u2028', '\u202e', '\ufeff', '\ufffd', '\ud800', 'a\udfff', '\udc00\ud800'];
/** Characters of several code points, UTF-16 units or spellings, and letters that change their length with their case. */
const UNICODE = ['e\u0301', '𝒳'.repeat(9), ...words('👩‍👩‍👧 é ﬁ İ')];
/** What SQL, templates, format strings, HTML and file systems may execute or follow. */
const INJECTIONS = [
  "' OR '1'='1",
  '"; DROP TABLE routes; --',
  ...words('${7*7} {{7*7}} %s%n <script>alert(1)</script> ../../etc/passwd'),
];
/** Names and numbers that JavaScript knows. */
const OF_JAVASCRIPT = words('__proto__ constructor toString null undefined NaN -0 1e999');
/** Paths, whole or broken, with the patterns of several routers. */
const PATHS = [
  '/a b',
  ...words(`
    / // /a//b /. /a/.. /... /: /:1a /:a/:a /:a/:b/ /a:b /a::b /a\\:b /% /%zz /%00 /%2F /%ff /ä /a?b /a?b=c /a#b /[a] /{a}
    /<int:a> /:a(b /:a(\\d+) /:a{.:b}? /a) /(?:a|b) /*a /{*a} /*a/:a /a\\ (:a)/b`),
];
/** Methods: one with a space, one in lower case, and all the punctuation that a method may have. */
const METHODS = ['GE T', 'get', "!#$%&'*+-.^_`|~", '*'];

/** Short texts that software often mishandles. */
const TRAPS = [
  ...BLANK_AND_CONTROL,
  ...INVISIBLE,
  ...UNICODE,
  ...INJECTIONS,
  ...OF_JAVASCRIPT,
  ...PATHS,
  ...METHODS,
];
/** How often a filler is repeated: around the limits of the contract, which count code points, segments or bytes. */
const COUNTS = [31, 32, 33, 127, 128, 129, 254, 255, 256, 1023, 2047, 2048, 2049, 5_000];
/** The repeated parts of long texts; the last ones have more UTF-16 units or bytes than code points. */
const FILLERS = ['a', '/', '/a', '%41', ':a(', '\\', '\u00e9', '😀'];

const trap = fc.constantFrom(...TRAPS);
const codePoint = fc.nat(0x10ffff).map((code) => String.fromCodePoint(code));

const longText = fc
  .tuple(fc.constantFrom(...FILLERS), fc.constantFrom(...COUNTS))
  .map(([part, count]) => part.repeat(count));
const twoTraps = fc.tuple(trap, trap).map(([first, second]) => first + second);
const randomText = fc.array(codePoint, { minLength: 1, maxLength: 8 }).map((all) => all.join(''));

/** A text that careless code mishandles. */
export const hostileText = weighted([12, trap], [3, longText], [3, twoTraps], [2, randomText]);

/** A short word of letters, digits, `_`, `~` and `-`, which need no escape in a URL. */
export const word = fc.stringMatching(/^[\w~-]{1,12}$/);

/**
 * A hostile text that a header can carry: `?` replaces ASCII's control characters and every character that is not in
 * Latin-1. Spaces at its ends stay.
 */
export const headerText = hostileText.map((text) => text.replace(/[^\x20-\x7e\x80-\xff]/g, '?'));
