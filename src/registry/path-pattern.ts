import { countCodePoints, quote } from './text.js';

/** The longest path, in code points: as long as the URLs that browsers and proxies commonly carry. */
export const PATH_MAX = 2048;

/** `pchar` of RFC 3986, section 3.3: escapes, and the plain characters other than "." and ":". */
const ESCAPE = '%[0-9A-Fa-f]{2}';
const PLAIN = String.raw`A-Za-z0-9\-_~!$&'()*+,;=@`;
const NAME = '[A-Za-z_][A-Za-z0-9_]*';
const PATH_CHARACTER = new RegExp(`${ESCAPE}|[${PLAIN}.:/]`, 'y');
const PARAMETER_NAME = new RegExp(`^${NAME}$`);
const PARAMETERS = /\/:[^/]*/g;
/** Parameters in the syntax of other routers: `/{id}`, `/<int:id>`, `/[id]`, and `/:id?` for an optional one. */
const BRACKETED = new RegExp(String.raw`/[{<[](?:\w+:)?(${NAME})[^/]*`);
const OPTIONAL = new RegExp(String.raw`/:(${NAME})\?`);

const ANY = `(?:${ESCAPE}|[${PLAIN}.:])`;
/** A parameter, or a segment that does not begin with ":" and is not "." or "..". */
const SEGMENT = String.raw`(?::${NAME}|(?:${ESCAPE}|[${PLAIN}])${ANY}*|\.(?:(?:${ESCAPE}|[${PLAIN}:])${ANY}*|\.${ANY}+))`;
/**
 * The syntax of a path pattern, for documentation: all rules of `checkPath`, except its length and that no parameter is
 * repeated, which no regular language can express. Each character can match in only one way, so matching takes linear
 * time.
 */
export const PATH_SYNTAX = new RegExp(`^(?:/${SEGMENT})*/?$`);

/** Every problem with a path pattern, each in one or two sentences; empty for a valid pattern. */
export function checkPath(path: string): string[] {
  // Most paths are valid, and a path of ASCII characters has as many code points as its `length`.
  if (path.length <= PATH_MAX && path !== '' && PATH_SYNTAX.test(path) && !repeatsParameter(path)) return [];
  const length = countCodePoints(path);
  if (length === 0)
    return [`Is empty or missing. Give a path pattern of 1 to ${PATH_MAX} characters that begins with "/".`];
  if (length > PATH_MAX) return [`Has ${length} characters. 1 to ${PATH_MAX} are allowed.`];
  const problems: string[] = [];
  if (!path.startsWith('/'))
    problems.push(`Begins with ${quote(firstCharacter(path))}. It must begin with "/".`);
  const stray = firstStrayCharacter(path);
  if (stray === '%') {
    problems.push('Has a "%" that is not followed by two hexadecimal digits. Write a literal "%" as "%25".');
  } else if (stray !== undefined) {
    problems.push(
      `Has the character ${quote(stray)}, which RFC 3986 does not allow in a path. ${hintFor(path, stray)}`,
    );
  }
  problems.push(...checkSegments(path.split('/').slice(path.startsWith('/') ? 1 : 0)));
  return problems;
}

/**
 * The path without the names of its parameters, so that two patterns that match the same requests are equal:
 * `/tasks/:id` and `/tasks/:task_id` both become `/tasks/:`.
 */
export function erasePathParameters(path: string): string {
  return path.replace(PARAMETERS, '/:');
}

function repeatsParameter(path: string): boolean {
  const parameters = path.match(PARAMETERS) ?? [];
  return new Set(parameters).size < parameters.length;
}

function checkSegments(segments: readonly string[]): string[] {
  const problems: string[] = [];
  const names = new Set<string>();
  if (segments.slice(0, -1).includes('')) {
    problems.push('Has an empty segment ("//"). Only the segment after a final "/" may be empty.');
  }
  for (const segment of segments) {
    if (segment === '.' || segment === '..') {
      problems.push(`Has the segment ${quote(segment)}. Segments "." and ".." are not allowed.`);
    }
    if (!segment.startsWith(':')) continue;
    const name = segment.slice(1);
    if (!PARAMETER_NAME.test(name)) {
      problems.push(
        `Has the parameter ${quote(segment)}. A parameter is ":" and a name of ASCII letters, digits and "_" that does not begin with a digit.`,
      );
    } else if (names.has(name)) {
      problems.push(`Has the parameter ${quote(segment)} more than once. Each name may occur once.`);
    }
    names.add(name);
  }
  return problems;
}

/** How to write the pattern that the client probably meant. */
function hintFor(path: string, stray: string): string {
  const bracketed = '{<['.includes(stray) ? BRACKETED.exec(path)?.[1] : undefined;
  if (bracketed !== undefined) return `A parameter is written ${quote(`:${bracketed}`)}.`;
  const optional = stray === '?' ? OPTIONAL.exec(path)?.[1] : undefined;
  if (optional !== undefined)
    return `A parameter is written ${quote(`:${optional}`)}, and cannot be optional.`;
  return 'Percent-encode it.';
}

function firstStrayCharacter(path: string): string | undefined {
  let index = 0;
  while (index < path.length) {
    PATH_CHARACTER.lastIndex = index;
    const match = PATH_CHARACTER.exec(path);
    if (match === null) return firstCharacter(path.slice(index));
    index += match[0].length;
  }
  return undefined;
}

function firstCharacter(text: string): string {
  return String.fromCodePoint(Number(text.codePointAt(0)));
}
