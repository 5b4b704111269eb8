import { countCodePoints, quote } from './text.js';

/** The longest path, in code points: as long as the URLs that browsers and proxies commonly carry. */
export const PATH_MAX = 2048;

/**
 * What a regular expression can say of a path pattern, for documentation: every pattern that `checkPath` accepts
 * matches, but not every match is accepted.
 */
export const PATH_SYNTAX = /^\/(?:[\x21-\x5b\x5d-\x7e]|\\[\x21-\x7e])*$/;

/** A pattern is read up to so many problems, equal ones included: each costs more than the rest of a request. */
const PROBLEMS_MAX = 100;

/** The brackets: the opening and the closing bracket of a pair have the same index. */
const OPENINGS = '([{<';
const CLOSINGS = ')]}>';

const NOT_VISIBLE_ASCII = /[^\x21-\x7e]/u;
const NAME = /[A-Za-z0-9_$]+|"[^"\\]+"/y;
/** A colon that begins no parameter, with what stands in place of a name. */
const NAMELESS = /:(?:"[^"\\]*"?)?/y;
const ESCAPE = /%[0-9A-Fa-f]{2}/y;
const PLAIN = /[^\\:*/()[\]{}<>#%?=]+/y;
/** A bracket after a parameter's name that is a group, as in `:id(.:format)`. `(.*)` is a regular expression. */
const GROUP_AFTER_NAME = /[({<](?:[./-]:|[/-]\*)/y;
const CONSTRAINT = /[({<]/y;
/** A set of characters in a constraint, `[^)\]]`. A `]` that stands first belongs to it, if another `]` follows. */
const CHARACTER_SET = /\[\^?\]?(?:\\[^]|[^\]\\])*\]/y;
/** How a parameter or a wildcard begins in other routers: `{id}`, `{id:[0-9]+}`, `{path...}`, `[...slug]`, `<int:id>`. */
const FOREIGN =
  /\{[A-Za-z_]\w*(?:[}:?=]|[*+]\d*\}|\.\.\.\})|\[\[?(?:\.\.\.)?[A-Za-z_]\w*[\]=]|<[A-Za-z_]\w*[>:(]/y;
/** The name in `<int:id>`; in all others, the first word is the name. */
const LAST_NAME = /:([A-Za-z_]\w*)>$/;

/** What a path pattern says. */
interface PathReading {
  /** The problems with it, a sentence each; empty for a valid pattern. */
  readonly problems: readonly string[];
  /** Whether these are all its problems. If not, the reading has stopped after `PROBLEMS_MAX`. */
  readonly complete: boolean;
  /**
   * The path without the names of its parameters and wildcards, so that two patterns that match the same requests are
   * equal: `/:user/*rest` becomes `/:/*`. A literal colon, written `\:` or `::`, becomes `\:`; everything else stays.
   * Never longer than a valid path. Stored: where it changes, routes must be counted again.
   */
  readonly shape: string;
}

/** Reads a path pattern, in time linear in its length. */
export function readPath(path: string): PathReading {
  // A text has no more code points than its `length`.
  const length = path.length > PATH_MAX ? countCodePoints(path) : path.length;
  if (path === '')
    return unreadPath(
      `Must be a path pattern of 1 to ${PATH_MAX} characters that begins with "/"; got none.`,
    );
  if (length > PATH_MAX) return unreadPath(`Must be 1 to ${PATH_MAX} characters; got ${length}.`);
  const { problems, complete, shape } = new PatternReader(path);
  return { problems: [...problems], complete, shape };
}

/** A path that is not read, with its only problem. */
function unreadPath(problem: string): PathReading {
  return { problems: [problem], complete: true, shape: '' };
}

/**
 * Reads the pattern of a router that writes parameters with a colon, once, from left to right:
 *
 * - `\x` is a literal x, and `::` a literal colon.
 * - `:name` is a parameter, and `*name` after `/`, `{` or `(` a wildcard. A name may be in double quotes: `:"user-id"`.
 * - A bracket right after a parameter's name, `(…)`, `{…}` or `<…>`, is its constraint, unless it begins as a group
 *   does: with `.`, `/` or `-` and a parameter, or with `/` or `-` and `*`.
 * - A constraint, and a bracket that begins with `(?`, is opaque: only `\` and brackets of its own kind count in it, and
 *   none of these within `[…]`.
 * - All other brackets are groups of tokens.
 * - Everything else, as the modifiers `?`, `*` and `+`, is text.
 */
class PatternReader {
  /** Equal ones only once. */
  readonly problems = new Set<string>();
  /** Whether the path was read to its end. */
  readonly complete: boolean;
  shape = '';
  readonly #path: string;
  #found = 0;
  /** The open groups, outermost first. */
  readonly #groups: string[] = [];
  #index = 0;
  #segmentStart = 0;
  /** The first `?` of the segment, outside brackets; a query if a `=` follows. */
  #queryStart: number | undefined;
  #hasQuery = false;
  /** Where `*` and a name would be a wildcard. */
  #wildcardStart: number | undefined;
  /** Whether a `[` from here on may begin a set of characters: once a `[` has no end, no later `[` has one. */
  #hasSets = true;

  constructor(path: string) {
    this.#path = path;
    const stray = NOT_VISIBLE_ASCII.exec(path)?.[0];
    if (!path.startsWith('/')) this.#report(`Must begin with "/"; got ${quote(path)}.`);
    if (stray !== undefined)
      this.#report(`Must be visible ASCII characters, others percent-encoded; got ${quote(stray)}.`);
    while (this.#index < path.length && this.#found < PROBLEMS_MAX) this.#readToken();

    this.complete = this.#index >= path.length;
    // What is open here may still end in the part that was not read.
    if (!this.complete) return;
    this.#endSegment();
    for (const opening of new Set(this.#groups)) this.#reportUnbalanced(opening);
  }

  #report(problem: string): void {
    this.#found += 1;
    this.problems.add(problem);
  }

  #readToken(): void {
    const character = this.#path.charAt(this.#index);
    switch (character) {
      case '\\':
        this.#readEscape();
        break;
      case ':':
        this.#readColon();
        break;
      case '*':
        this.#readAsterisk();
        break;
      case '/':
        this.#readSlash();
        break;
      case '(':
      case '[':
      case '{':
      case '<':
        this.#readOpening(character);
        break;
      case ')':
      case ']':
      case '}':
      case '>':
        this.#readClosing(character);
        break;
      case '#':
      case '%':
      case '?':
      case '=':
        if (this.#groups.length === 0) this.#checkReserved(character);
        this.#take(1);
        break;
      default:
        this.#take(this.#match(PLAIN).length);
    }
  }

  #readEscape(): void {
    if (this.#index === this.#path.length - 1)
      this.#report('Must have a character after each "\\"; got none after the last one.');
    this.#take(2);
  }

  #readColon(): void {
    if (this.#path[this.#index + 1] === ':') {
      this.#take(2, '\\:');
    } else if (this.#readName()) {
      if (this.#match(CONSTRAINT) !== '' && this.#match(GROUP_AFTER_NAME) === '') this.#readOpaque();
    } else {
      this.#report(
        `Must have a name of ASCII letters, digits, "_" and "$", or one in double quotes, after each ":", or "\\:" for a literal one; got ${quote(this.#match(NAMELESS))}.`,
      );
      this.#take(1, '\\:');
    }
  }

  #readAsterisk(): void {
    if (this.#wildcardStart !== this.#index || !this.#readName()) this.#take(1);
  }

  /** Reads `:` or `*` and the name after it. @returns whether there is a name */
  #readName(): boolean {
    const name = this.#match(NAME, 1);
    if (name === '') return false;
    this.#take(1 + name.length, this.#path.charAt(this.#index));
    return true;
  }

  #readSlash(): void {
    if (this.#groups.length === 0) {
      if (this.#index > 0 && this.#segmentStart === this.#index)
        this.#report('Must have no empty segment but after a final "/"; got "//".');
      this.#endSegment();
    }
    this.#take(1);
    this.#wildcardStart = this.#index;
  }

  #endSegment(): void {
    const segment = this.#path.slice(this.#segmentStart, this.#index);
    if (segment === '.' || segment === '..')
      this.#report(`Must have no segment "." or ".."; got ${quote(segment)}.`);
    if (this.#hasQuery) this.#report(`Must have no query; got ${quote(this.#path.slice(this.#queryStart))}.`);
    this.#segmentStart = this.#index + 1;
    this.#queryStart = undefined;
    this.#hasQuery = false;
  }

  #readOpening(opening: string): void {
    const startsSegment = this.#groups.length === 0 && this.#segmentStart === this.#index;
    if (startsSegment && this.#readForeign()) return;
    if (this.#path.startsWith('(?', this.#index)) {
      this.#readOpaque();
    } else {
      this.#groups.push(opening);
      this.#take(1);
      if (opening !== '[' && opening !== '<') this.#wildcardStart = this.#index;
    }
  }

  #readClosing(closing: string): void {
    if (this.#groups.at(-1) === counterpartOf(closing)) this.#groups.pop();
    else this.#reportUnbalanced(closing);
    this.#take(1);
  }

  /** Reads a whole segment that other routers read as a parameter. @returns whether there is such a segment */
  #readForeign(): boolean {
    const start = this.#match(FOREIGN);
    if (start === '') return false;
    const end = this.#endOfOpaque();
    if (end < this.#path.length && this.#path[end] !== '/') return false;
    const text = this.#path.slice(this.#index, end);
    const name = LAST_NAME.exec(text)?.[1] ?? text.replace(/^\W+/, '').replace(/\W.*$/s, '');
    const rule = /\.\.\.|[*+]/.test(start)
      ? `a wildcard as ${quote(`*${name}`)}`
      : `a parameter as ${quote(`:${name}`)}`;
    this.#report(`Must write ${rule}; got ${quote(text)}.`);
    this.#take(text.length);
    return true;
  }

  #readOpaque(): void {
    this.#take(this.#endOfOpaque() - this.#index);
  }

  /** Where the bracket that begins here ends. If nothing closes it, the rest belongs to it, so no text is read twice. */
  #endOfOpaque(): number {
    const opening = this.#path.charAt(this.#index);
    const closing = counterpartOf(opening);
    let depth = 0;
    for (let index = this.#index; index < this.#path.length; index++) {
      const character = this.#path[index];
      if (character === '\\') index++;
      else if (character === opening) depth++;
      else if (character === '[') index = this.#endOfSet(index) - 1;
      else if (character === closing && --depth === 0) return index + 1;
    }
    this.#reportUnbalanced(opening);
    return this.#path.length;
  }

  /** Where the set of characters that begins here ends. If nothing closes it, the `[` is text. */
  #endOfSet(start: number): number {
    CHARACTER_SET.lastIndex = start;
    this.#hasSets &&= CHARACTER_SET.test(this.#path);
    return this.#hasSets ? CHARACTER_SET.lastIndex : start + 1;
  }

  #checkReserved(character: '#' | '%' | '?' | '='): void {
    if (character === '#') {
      this.#report('Must have no "#" outside brackets, or "%23" for a literal one; got "#".');
    } else if (character === '%' && this.#match(ESCAPE) === '') {
      const broken = this.#path.slice(this.#index, this.#index + 3);
      this.#report(
        `Must have two hexadecimal digits after each "%", or "%25" for a literal one; got ${quote(broken)}.`,
      );
    } else if (character === '?') {
      this.#queryStart ??= this.#index;
    } else if (character === '=') {
      this.#hasQuery = this.#queryStart !== undefined;
    }
  }

  #reportUnbalanced(bracket: string): void {
    this.#report(
      `Must have balanced brackets, or "\\${bracket}" for a literal one; got "${bracket}" without "${counterpartOf(bracket)}".`,
    );
  }

  /** What the sticky expression matches so many characters from here; empty if nothing. */
  #match(expression: RegExp, offset = 0): string {
    expression.lastIndex = this.#index + offset;
    return expression.exec(this.#path)?.[0] ?? '';
  }

  /** Moves on by so many characters, which have this text in the shape. Default: their own. */
  #take(length: number, text = this.#path.slice(this.#index, this.#index + length)): void {
    this.shape += text;
    this.#index += length;
  }
}

/** The closing bracket of an opening bracket, or the reverse. */
function counterpartOf(bracket: string): string {
  const index = OPENINGS.indexOf(bracket);
  return index === -1 ? OPENINGS.charAt(CLOSINGS.indexOf(bracket)) : CLOSINGS.charAt(index);
}
