// What may stand next, by the first characters of tokens; `a` is a number or a name.
const VALUE = '{["a';
const KEY = '"';
const KEY_OR_END = '"}';

const WORD = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null/y;
const PIECE_OF_STRING = /[^"\\\u0000-\u001f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/**
 * Says where a text stops being JSON (RFC 8259), with lines and columns from 1: `unexpected "}" at line 2, column 7`.
 * The messages of `JSON.parse` differ between versions of Node, do not always have a place, and repeat the text.
 *
 * @param text a text that `JSON.parse` refuses.
 */
export function syntaxError(text: string): string {
  const at = errorIndex(text);
  const before = text.slice(0, at);
  const lineStart = before.lastIndexOf('\n') + 1;
  const character = text.codePointAt(at);
  const what = character === undefined ? 'end' : JSON.stringify(String.fromCodePoint(character));
  return `unexpected ${what} at line ${before.split('\n').length}, column ${Array.from(before.slice(lineStart)).length + 1}`;
}

/** The index of the first character that no JSON text has there; the length of the text if it ends too early. */
function errorIndex(text: string): number {
  const closers: string[] = [];
  let next = VALUE;
  for (let at = 0; at < text.length; at += 1) {
    const first = text.charAt(at);
    if (' \t\n\r'.includes(first)) continue;
    if (!next.includes('{}[],:"'.includes(first) ? first : 'a')) return at;
    const isKey = next === KEY || next === KEY_OR_END;
    if (first === '{' || first === '[') {
      closers.push(first === '{' ? '}' : ']');
      next = first === '{' ? KEY_OR_END : `${VALUE}]`;
      continue;
    }
    if (first === ':' || first === ',') {
      next = first === ',' && closers.at(-1) === '}' ? KEY : VALUE;
      continue;
    }
    if (first === '"') {
      at = endOfString(text, at);
      if (text.charAt(at) !== '"') return at;
    } else if (first === '}' || first === ']') closers.pop();
    else {
      const end = endOfWord(text, at);
      if (end === at) return at;
      at = end - 1;
    }
    const closer = closers.at(-1);
    if (isKey && first === '"') next = ':';
    else next = closer === undefined ? '' : `,${closer}`;
  }
  return text.length;
}

/** The index of a string's closing quotation mark, or of the first character that no string has. */
function endOfString(text: string, start: number): number {
  PIECE_OF_STRING.lastIndex = start + 1;
  let end = start + 1;
  while (PIECE_OF_STRING.test(text)) end = PIECE_OF_STRING.lastIndex;
  return end;
}

/** The index behind a number or a name; `start` if there is neither. */
function endOfWord(text: string, start: number): number {
  WORD.lastIndex = start;
  return WORD.test(text) ? WORD.lastIndex : start;
}
