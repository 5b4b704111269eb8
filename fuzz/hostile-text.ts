import fc from 'fast-check';
import { weighted, words } from './draws.js';

/** Short texts that software often mishandles. */
const TRAPS = [
  // Empty, whitespace and control characters, line breaks that add a header.
  ...['', ' ', '\0', 'a\0b', '\t', '\r\nx-injected: 1', ' leading', 'trailing ', '\u007f', '\u0085'],
  // Invisible characters, lone surrogates, and a letter with a combining accent.
  ...['\u00a0', '\u2028', '\u202e', '\ufeff', '\ufffd', '\ud800', 'a\udfff', '\udc00\ud800', 'e\u0301'],
  // Injection into SQL, templates and request lines, and characters of two UTF-16 units.
  ...["' OR '1'='1", '"; DROP TABLE routes; --', '𝒳'.repeat(9), '/a b', 'GE T', '${7*7}', '{{7*7}}'],
  // Unicode, names of JavaScript, numbers, format strings, HTML; then paths and route patterns; then methods.
  ...words(`
    👩‍👩‍👧 é ﬁ İ __proto__ constructor toString null undefined NaN -0 1e999 %s%n <script>alert(1)</script> ../../etc/passwd
    / // /a//b /. /a/.. /... /: /:1a /:a/:a /:a/:b/ /a:b /a::b /a\\:b /% /%zz /%00 /%2F /%ff /ä /a?b /a?b=c /a#b /[a] /{a}
    /<int:a> /:a(b /:a(\\d+) /:a{.:b}? /a) /(?:a|b) /*a /{*a} /*a/:a /a\\ (:a)/b
    get !#$%&'*+-.^_\`|~ *`),
];
/** How often a filler is repeated: around the limits of the contract, which count code points, segments or bytes. */
const COUNTS = [31, 32, 33, 127, 128, 129, 254, 255, 256, 1023, 2047, 2048, 2049, 5_000];
/** The repeated parts of long texts; the last ones have more UTF-16 units or bytes than code points. */
const FILLERS = ['a', '/', '/a', '%41', ':a(', '\\', '\u00e9', '😀'];

const trap = fc.constantFrom(...TRAPS);
const codePoint = fc.nat(0x10ffff).map((code) => String.fromCodePoint(code));

/** A text that careless code mishandles. */
export const hostileText = weighted(
  [12, trap],
  [
    3,
    fc
      .tuple(fc.constantFrom(...FILLERS), fc.constantFrom(...COUNTS))
      .map(([part, count]) => part.repeat(count)),
  ],
  [3, fc.tuple(trap, trap).map(([first, second]) => first + second)],
  [2, fc.array(codePoint, { minLength: 1, maxLength: 8 }).map((all) => all.join(''))],
);

/** A short word of letters, digits, `_`, `~` and `-`, which need no escape in a URL. */
export const word = fc.stringMatching(/^[\w~-]{1,12}$/);

/**
 * A hostile text that a header can carry: `?` replaces ASCII's control characters and every character that is not in
 * Latin-1. Spaces at its ends stay.
 */
export const headerText = hostileText.map((text) => text.replace(/[^\x20-\x7e\x80-\xff]/g, '?'));
