import { HttpFailure, malformed } from '../failures/failure.js';
import {
  type LongNumber,
  longNumber,
  type SentJson,
  type SentObject,
  setMember,
  type TextFlaw,
  textFlaw,
} from '../fields/json-value.js';

/**
 * The maximum nesting of objects and arrays in a body. One level may be two messages (a `google.protobuf.Value` and its
 * list, an Any and its content), and protobuf parsers allow 100 levels by default, so every accepted message can be
 * returned.
 */
export const MAX_DEPTH = 48;

/** The description of a key or a parameter that is repeated. */
export const GIVEN_AGAIN = 'Must be given once; got it again.';

const HALF_CHARACTER = 'Must have only whole characters; got half of a surrogate pair.';

/**
 * Parses a JSON text (RFC 8259). It takes the texts that `JSON.parse` takes, up to `MAX_DEPTH`, and returns the same
 * values, except for what `JSON.parse` would change or hide. There, the value is
 *
 * - a `LongNumber` for a number that may have lost digits: an integer of more than 15 characters, or with an exponent;
 *   also for an infinite number;
 * - a `TextFlaw` for a key that is repeated (in place of its values), for a string with a lone surrogate, and for the value
 *   of a key with a lone surrogate.
 *
 * @param text contains no lone surrogates, other than as escapes.
 * @throws HttpFailure `REQUEST_MALFORMED` with the first character that no JSON text has there, or for the nesting.
 */
export function parseJson(text: string): SentJson {
  return new Parser(text).whole();
}

const codeOf = (character: string): number => character.charCodeAt(0);
const QUOTE = codeOf('"');
const BACKSLASH = codeOf('\\');
const COMMA = codeOf(',');
const COLON = codeOf(':');
const OPEN_OBJECT = codeOf('{');
const CLOSE_OBJECT = codeOf('}');
const OPEN_ARRAY = codeOf('[');
const CLOSE_ARRAY = codeOf(']');
const SPACE = codeOf(' ');
const TAB = codeOf('\t');
const LINE_FEED = codeOf('\n');
const CARRIAGE_RETURN = codeOf('\r');
const ZERO = codeOf('0');
const NINE = codeOf('9');
const POINT = codeOf('.');
const LARGE_E = codeOf('E');
const SMALL_E = codeOf('e');

/** The number of quotation marks around a string. */
const QUOTES = 2;

const WORDS: readonly (readonly [word: string, value: SentJson])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
/** The length up to which a JavaScript number holds every decimal without an exponent. */
const SAFE_LENGTH = 15;
const EXPONENT = /[eE]/;

const ESCAPE_OR_CONTROL = /[\\\u0000-\u001f]/;
const FIRST_PRINTABLE = SPACE;
/** The characters that follow the backslash of an escape of two characters. */
const SHORT_ESCAPES: ReadonlySet<number> = new Set(Array.from('"\\/bfnrt', codeOf));
const UNICODE_ESCAPE = /\\u[0-9a-fA-F]{4}/y;
const PAIR_OF_SURROGATES = /[\u{10000}-\u{10ffff}]/gu;
const LONE_SURROGATE = /\p{Surrogate}/u;

/** A recursive descent, whose depth is bounded by `MAX_DEPTH`. Each method reads what is next, and moves behind it. */
class Parser {
  readonly #text: string;
  /** The index of the next character. */
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The value of the whole text. */
  whole(): SentJson {
    const value = this.#value();
    this.#skipSpace();
    if (this.#at < this.#text.length) this.#fail();
    return value;
  }

  #value(): SentJson {
    const first = this.#skipSpace();
    if (first === QUOTE) return this.#string();
    if (first === OPEN_OBJECT) return this.#object();
    if (first === OPEN_ARRAY) return this.#array();
    return this.#shortInteger(first) ?? this.#number() ?? this.#word();
  }

  /** Moves to the next character that is no space, and returns its code; NaN at the end of the text. */
  #skipSpace(): number {
    let code = this.#text.charCodeAt(this.#at);
    while (code === SPACE || code === LINE_FEED || code === CARRIAGE_RETURN || code === TAB) {
      this.#at += 1;
      code = this.#text.charCodeAt(this.#at);
    }
    return code;
  }

  /** Moves behind a character if it is next, after spaces; returns whether it was. */
  #passes(code: number): boolean {
    const isNext = this.#skipSpace() === code;
    if (isNext) this.#at += 1;
    return isNext;
  }

  /** Moves behind the character that opens an object or array. */
  #open(): void {
    this.#at += 1;
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw malformed(`The body is nested deeper than ${MAX_DEPTH} levels.`);
  }

  /** Moves behind the character that closes an object or array, which must be next. */
  #close(code: number): void {
    if (!this.#passes(code)) this.#fail();
    this.#depth -= 1;
  }

  #object(): SentObject {
    const object: SentObject = {};
    this.#open();
    if (this.#skipSpace() !== CLOSE_OBJECT) {
      do this.#member(object);
      while (this.#passes(COMMA));
    }
    this.#close(CLOSE_OBJECT);
    return object;
  }

  #member(object: SentObject): void {
    if (this.#skipSpace() !== QUOTE) this.#fail();
    const start = this.#at;
    const key = this.#content();
    const flaw = this.#flawIn(key, start);
    if (!this.#passes(COLON)) this.#fail();
    const value = this.#value();
    setMember(object, key, Object.hasOwn(object, key) ? textFlaw(GIVEN_AGAIN) : (flaw ?? value));
  }

  #array(): SentJson[] {
    const array: SentJson[] = [];
    this.#open();
    if (this.#skipSpace() !== CLOSE_ARRAY) {
      do array.push(this.#value());
      while (this.#passes(COMMA));
    }
    this.#close(CLOSE_ARRAY);
    return array;
  }

  #string(): string | TextFlaw {
    const start = this.#at;
    const content = this.#content();
    return this.#flawIn(content, start) ?? content;
  }

  /**
   * Why no field takes the string that has just been read; undefined if nothing is wrong with it.
   *
   * @param start the index at which it began.
   */
  #flawIn(content: string, start: number): TextFlaw | undefined {
    // Only an escape can be half a character. It is longer than what it stands for.
    const hasEscape = this.#at - start > content.length + QUOTES;
    return hasEscape && LONE_SURROGATE.test(content) ? textFlaw(HALF_CHARACTER) : undefined;
  }

  /** The content of a string, which begins at the next character. */
  #content(): string {
    const start = this.#at;
    const end = endOfString(this.#text, start);
    const content = end === undefined ? undefined : contentOf(this.#text.slice(start, end));
    if (end === undefined || content === undefined) {
      this.#at = endOfValid(this.#text, start);
      return this.#fail();
    }
    this.#at = end;
    return content;
  }

  /** An integer without a sign, of a few digits, as most are; undefined for all else. A regular expression takes twice as long. */
  #shortInteger(first: number): number | undefined {
    let end = this.#at;
    let code = first;
    let value = 0;
    while (code >= ZERO && code <= NINE) {
      value = value * 10 + code - ZERO;
      end += 1;
      code = this.#text.charCodeAt(end);
    }
    const length = end - this.#at;
    const goesOn = code === POINT || code === SMALL_E || code === LARGE_E;
    if (goesOn || length === 0 || length > SAFE_LENGTH || (first === ZERO && length > 1)) return undefined;
    this.#at = end;
    return value;
  }

  /** A number of any form; undefined if there is none. */
  #number(): number | LongNumber | undefined {
    NUMBER.lastIndex = this.#at;
    if (!NUMBER.test(this.#text)) return undefined;
    const literal = this.#text.slice(this.#at, NUMBER.lastIndex);
    this.#at = NUMBER.lastIndex;
    const value = Number(literal);
    const isShort = literal.length <= SAFE_LENGTH && !EXPONENT.test(literal);
    // A fraction stays a fraction, however many of its digits are lost.
    const isSafe = isShort || (Number.isFinite(value) && !Number.isInteger(value));
    return isSafe ? value : longNumber(literal);
  }

  /** The value of a word, which must be next. */
  #word(): SentJson {
    for (const [word, value] of WORDS) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return value;
    }
    return this.#fail();
  }

  /** Refuses the next character, or the end of the text. */
  #fail(): never {
    const text = this.#text;
    const at = this.#at;
    // The messages of `JSON.parse` differ between versions of Node, do not always have a place, and repeat the text.
    throw new HttpFailure('REQUEST_MALFORMED', 'The body is not valid JSON', {
      ending: () => `: ${unexpectedCharacter(text, at)}.`,
    });
  }
}

/** The index behind the closing quotation mark of a string; undefined if there is none. */
function endOfString(text: string, start: number): number | undefined {
  // A regular expression would need memory for each escape.
  let mark = text.indexOf('"', start + 1);
  while (mark > 0 && isEscaped(text, mark)) mark = text.indexOf('"', mark + 1);
  return mark > 0 ? mark + 1 : undefined;
}

/** The content of a string that is in quotation marks; undefined if JSON does not allow it. */
function contentOf(string: string): string | undefined {
  const content = string.slice(1, -1);
  if (!ESCAPE_OR_CONTROL.test(content)) return content;
  try {
    return JSON.parse(string) as string;
  } catch {
    return undefined;
  }
}

/** Whether an odd number of backslashes precedes a character. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}

/** The index of the first character that a string may not have; the length of the text if it does not end. */
function endOfValid(text: string, start: number): number {
  let end = start + 1;
  let code = text.charCodeAt(end);
  while (code >= FIRST_PRINTABLE && code !== QUOTE) {
    const next = code === BACKSLASH ? endOfEscape(text, end) : end + 1;
    if (next === end) return end;
    end = next;
    code = text.charCodeAt(end);
  }
  return end;
}

/** The index behind an escape; that of its backslash if there is no such escape. */
function endOfEscape(text: string, at: number): number {
  if (SHORT_ESCAPES.has(text.charCodeAt(at + 1))) return at + 2;
  UNICODE_ESCAPE.lastIndex = at;
  return UNICODE_ESCAPE.test(text) ? UNICODE_ESCAPE.lastIndex : at;
}

/** The character at an index, with line and column from 1: `unexpected "}" at line 2, column 7`. */
function unexpectedCharacter(text: string, at: number): string {
  const before = text.slice(0, at);
  const line = before.split('\n').length;
  const ofLine = before.slice(before.lastIndexOf('\n') + 1);
  const pairs = ofLine.match(PAIR_OF_SURROGATES) ?? [];
  const column = ofLine.length - pairs.length + 1;
  const character = text.codePointAt(at);
  const what = character === undefined ? 'end' : JSON.stringify(String.fromCodePoint(character));
  return `unexpected ${what} at line ${line}, column ${column}`;
}
