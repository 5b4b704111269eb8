/** A segment of a path between two slashes: literal text, `*` (one segment) or `**` (any number of them). */
export type Segment = string;

/** A variable of a template and the segments that it spans. */
export interface Variable {
  /** Names of the request field and its parents: `book.name` is `['book', 'name']`. */
  readonly fieldPath: readonly string[];
  /** Index of its first segment; behind `**`, negative and counted from the end, as `slice` takes it. */
  readonly start: number;
  /** Index after its last segment; from `**` on counted from the end, and `Infinity` for the end itself. */
  readonly end: number;
  /** Whether it may span several segments, so that an escaped slash in it stays escaped. */
  readonly multiSegment: boolean;
}

/** A path template, following the grammar in the comments of google/api/http.proto. */
export interface PathTemplate {
  readonly source: string;
  /** In the form that `comparable` returns, like the custom verb. */
  readonly segments: readonly Segment[];
  readonly variables: readonly Variable[];
  /** The custom verb after the last colon (AIP-136); empty for none. */
  readonly customVerb: string;
}

// RFC 3986 pchar without "*", which is a wildcard here, and ":", which begins the custom verb. Paths are compared
// without decoding, so what needs escaping must be escaped in the template.
const LITERAL = String.raw`(?:[A-Za-z0-9\-._~!$&'()+,;=@]|%[0-9A-Fa-f]{2})+`;
const SEGMENT = String.raw`(?:\*\*|\*|${LITERAL})`;
const NAME = '[A-Za-z_][A-Za-z0-9_]*';
const PART = new RegExp(
  String.raw`/(?:\{(?<fieldPath>${NAME}(?:\.${NAME})*)(?:=(?<pattern>${SEGMENT}(?:/${SEGMENT})*))?\}|(?<plain>${SEGMENT}))(?=[/:]|$)`,
  'y',
);
const CUSTOM_VERB = new RegExp(`:(${LITERAL})$`, 'y');

/**
 * Parses a path template.
 *
 * @throws Error with the reason if the text does not follow the grammar or a variable is repeated.
 */
export function parsePathTemplate(source: string): PathTemplate {
  if (source === '/') return { source, segments: [], variables: [], customVerb: '' };
  const segments: Segment[] = [];
  const variables: Variable[] = [];
  let position = 0;
  for (;;) {
    PART.lastIndex = position;
    const groups = PART.exec(source)?.groups;
    if (groups === undefined) break;
    position = PART.lastIndex;
    const start = segments.length;
    segments.push(...comparable(groups['plain'] ?? groups['pattern'] ?? '*').split('/'));
    if (groups['fieldPath'] === undefined) continue;
    variables.push({
      fieldPath: groups['fieldPath'].split('.'),
      start,
      end: segments.length,
      multiSegment: segments.length - start > 1 || segments.at(-1) === '**',
    });
  }
  CUSTOM_VERB.lastIndex = position;
  const customVerb = comparable(CUSTOM_VERB.exec(source)?.[1] ?? '');
  if (segments.length === 0 || (position < source.length && customVerb === '')) {
    throw new Error(`the path template "${source}" is not well-formed at character ${position + 1}`);
  }
  const names = variables.map(({ fieldPath }) => fieldPath.join('.'));
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) {
    throw new Error(`the path template "${source}" has the variable "${repeated}" twice`);
  }
  return {
    source,
    segments,
    variables: variables.map((variable) => fromEnd(variable, segments)),
    customVerb,
  };
}

/** The variable with its places counted from the end where they depend on how many segments `**` stands for. */
function fromEnd({ start, end, ...variable }: Variable, segments: readonly Segment[]): Variable {
  const { length } = segments;
  const rest = segments.indexOf('**');
  if (rest < 0 || end <= rest) return { ...variable, start, end };
  return {
    ...variable,
    start: start > rest ? start - length : start,
    end: end === length ? Infinity : end - length,
  };
}

/** Whether a variable spans a segment of its template. */
export function spans({ start, end }: Variable, index: number, { length }: readonly Segment[]): boolean {
  return indexIn(start, length) <= index && index < indexIn(end, length);
}

function indexIn(place: number, length: number): number {
  return place < 0 ? place + length : place;
}

const ESCAPE = /%[0-9A-Fa-f]{2}/g;

/**
 * Literal text of a path, with upper-case digits in its escapes, so that texts that are equivalent by RFC 3986 6.2.2.1
 * are equal. An unnecessary escape stays different text: paths match exactly.
 */
export function comparable(text: string): string {
  return text.includes('%') ? text.replace(ESCAPE, (escape) => escape.toUpperCase()) : text;
}

const PATH_TEXT = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*$/;

/**
 * The value of a variable in a matched path. In a variable of one segment, all escapes are decoded; in a variable of
 * several segments, `%2F` stays as it is, since it would look like a separator.
 *
 * @returns undefined if the text has characters that RFC 3986 does not allow in a path, a broken escape, or escapes
 *   that are not UTF-8.
 */
export function variableValue(variable: Variable, segments: readonly string[]): string | undefined {
  const text = segments.slice(variable.start, variable.end).join('/');
  if (!PATH_TEXT.test(text)) return undefined;
  try {
    if (!variable.multiSegment) return decodeURIComponent(text);
    return text.replace(/(?:(?!%2F)[^])+/gi, decodeURIComponent);
  } catch {
    return undefined;
  }
}

/** The path of a template with one value per variable, in the order of its variables. */
export function expandPathTemplate(template: PathTemplate, values: readonly string[]): string {
  const parts: string[] = [];
  template.segments.forEach((segment, index) => {
    const found = template.variables.findIndex((candidate) => spans(candidate, index, template.segments));
    const variable = template.variables[found];
    const { [found]: value = '' } = values;
    if (variable === undefined) parts.push(segment);
    else if (indexIn(variable.start, template.segments.length) === index)
      parts.push(escapeValue(variable, value));
  });
  return `/${parts.join('/')}${template.customVerb && `:${template.customVerb}`}`;
}

function escapeValue({ multiSegment }: Variable, value: string): string {
  return multiSegment ? value.split('/').map(encodeURIComponent).join('/') : encodeURIComponent(value);
}
