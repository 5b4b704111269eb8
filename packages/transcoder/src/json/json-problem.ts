const SPACE = /[ \t\n\r]*/y;
const LITERAL = /true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
/** A string without its closing quotation mark. */
const STRING = /"(?:[^"\\\x00-\x1f]+|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*/y;

/** The tokens that may come next. */
const EXPECTED = {
  value: 'a value',
  first: 'a value or "]"',
  firstKey: 'a key in double quotes or "}"',
  key: 'a key in double quotes',
  colon: '":"',
  inObject: '"," or "}"',
  inArray: '"," or "]"',
  outside: 'the end',
} as const;

type State = keyof typeof EXPECTED;

/** The next state for each single-character token that is allowed in a state. */
const NEXT: Readonly<Record<string, Partial<Record<State, State | 'open' | 'close'>>>> = {
  '{': { value: 'open', first: 'open' },
  '[': { value: 'open', first: 'open' },
  '}': { firstKey: 'close', inObject: 'close' },
  ']': { first: 'close', inArray: 'close' },
  ':': { colon: 'value' },
  ',': { inObject: 'key', inArray: 'value' },
};

/**
 * The first place where a text is not JSON (RFC 8259), and the tokens allowed there, as the end of a sentence. It
 * repeats only one character of the text. The messages of `JSON.parse` differ between versions of Node, and repeat
 * more.
 *
 * @param text one that `JSON.parse` refuses
 * @param maxDepth the objects and arrays in one another after which the search ends
 * @returns undefined if it ended there
 */
export function jsonProblem(text: string, maxDepth: number): string | undefined {
  const open: State[] = [];
  let state: State = 'value';
  let index = endOf(SPACE, text, 0);
  for (;;) {
    const character = text.charAt(index);
    const next: State | 'open' | 'close' | undefined = NEXT[character]?.[state];
    if (next === undefined) {
      const token: RegExp | undefined = STARTS[state];
      const end = token === undefined ? index : endOf(character === '"' ? STRING : token, text, index);
      if (end === index) return problem(text, index, EXPECTED[state]);
      const isString = character === '"';
      if (isString && text.charAt(end) !== '"') return problem(text, end, inString(text.charAt(end)));
      index = isString ? end + 1 : end;
      state = token === STRING ? 'colon' : (open.at(-1) ?? 'outside');
    } else {
      index += 1;
      if (next === 'open' && open.push(character === '{' ? 'inObject' : 'inArray') > maxDepth)
        return undefined;
      if (next === 'close') open.pop();
      state =
        next === 'open'
          ? character === '{'
            ? 'firstKey'
            : 'first'
          : next === 'close'
            ? (open.at(-1) ?? 'outside')
            : next;
    }
    index = endOf(SPACE, text, index);
  }
}

/** The multi-character tokens that are allowed in a state; where a literal is allowed, a string is as well. */
const STARTS: Partial<Record<State, RegExp>> = {
  value: LITERAL,
  first: LITERAL,
  firstKey: STRING,
  key: STRING,
};

function inString(character: string): string {
  if (character === '') return 'a closing quotation mark';
  return character === '\\' ? 'an escape of JSON' : 'an escape';
}

function problem(text: string, index: number, expected: string): string {
  const before = text.slice(0, index);
  const inLine = before.slice(before.lastIndexOf('\n') + 1);
  const at = `line ${before.split('\n').length}, column ${Array.from(inLine).length + 1}`;
  const code = text.codePointAt(index);
  if (code === undefined) return `it ends at ${at}, where ${expected} is expected.`;
  const shown = /[\p{C}\p{Z}]/u.test(String.fromCodePoint(code))
    ? `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
    : JSON.stringify(String.fromCodePoint(code));
  return `${at} has ${shown}, where ${expected} is expected.`;
}

/** The end of a pattern's match at a place; the place itself if it does not match. */
function endOf(pattern: RegExp, text: string, index: number): number {
  pattern.lastIndex = index;
  return index + (pattern.exec(text)?.[0].length ?? 0);
}
