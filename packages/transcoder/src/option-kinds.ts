import { isUint8Array } from 'node:util/types';
import type { JsonValue } from '@bufbuild/protobuf';
import { kindOf, quote } from './fields/allowed-value.js';
import { LONGEST_TIMER_MS } from './timeouts.js';

/** What an option may be: a test, and words for it. */
export interface Kind {
  readonly allows: (value: unknown) => boolean;
  readonly words: string;
}

/** The kinds of options, by name. */
export type Kinds = Readonly<Record<string, Kind>>;

/** Options without undefined, which stands for an option that is not set. */
export type Defined<Options> = { [Name in keyof Options]: Exclude<Options[Name], undefined> };

const isObjectOrList = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
const isText = (value: unknown): value is string => typeof value === 'string';
const isTextual = (value: unknown): boolean =>
  isObjectOrList(value) && Symbol.iterator in value && [...(value as Iterable<unknown>)].every(isText);

export const FLAG: Kind = { allows: (value) => typeof value === 'boolean', words: 'true or false' };
export const TEXT: Kind = { allows: isText, words: 'a string' };
/** Text that may be in a header, in quotation marks. */
export const HEADER_TEXT: Kind = {
  allows: (value) => isText(value) && /^[ !#-[\]-~]*$/.test(value),
  words: 'a string of printable ASCII characters without " and \\',
};
export const FUNCTION: Kind = { allows: (value) => typeof value === 'function', words: 'a function' };
export const OBJECT: Kind = {
  allows: (value) => isObjectOrList(value) && !Array.isArray(value),
  words: 'an object',
};
export const LIST: Kind = {
  allows: (value) => Array.isArray(value) && value.every(isObjectOrList),
  words: 'an array of objects',
};
export const TEXTS: Kind = { allows: isTextual, words: 'an array or another iterable of strings' };
export const MAP: Kind = { allows: (value) => value instanceof Map, words: 'a Map' };
/** Also a Uint8Array of another realm, such as a Buffer in Jest's environments for browsers. */
export const BYTES: Kind = { allows: isUint8Array, words: 'a Uint8Array' };
export const MILLISECONDS: Kind = {
  allows: (value) => typeof value === 'number' && value > 0 && value <= LONGEST_TIMER_MS,
  words: `a number of milliseconds, above 0 and up to ${LONGEST_TIMER_MS}`,
};
export const MILLISECONDS_OR_INFINITY: Kind = {
  allows: (value) => typeof value === 'number' && value > 0,
  words: 'a number of milliseconds above 0, or Infinity',
};

/** A whole number, or Infinity for no limit. */
export function numberFrom(least: number): Kind {
  return {
    allows: (value) =>
      typeof value === 'number' && value >= least && (Number.isInteger(value) || value === Infinity),
    words: `a whole number from ${least}, or Infinity`,
  };
}

export function oneOf(...values: readonly string[]): Kind {
  return {
    allows: (value) => isText(value) && values.includes(value),
    words: `one of ${values.map(quote).join(', ')}`,
  };
}

/** An object with the given functions. */
export function objectWith(...functions: readonly string[]): Kind {
  return {
    allows: (value) => isObjectOrList(value) && functions.every((name) => typeof value[name] === 'function'),
    words: `an object with ${functions.map((name) => `\`${name}()\``).join(', ')}`,
  };
}

/**
 * The given options without those that are undefined, which have their defaults. The compiler finds what is wrong only for
 * callers that use the types.
 *
 * @param required the names of the options that have no default. Default: none.
 * @param holder the option that holds these, with a dot. Default: none.
 * @throws Error with a one-sentence message if an option does not exist, is of another kind, or is missing
 */
export function checkedOptions<Options extends object>(
  options: Options,
  kinds: Kinds,
  required: readonly string[] = [],
  holder = '',
): Defined<Options> {
  if (!OBJECT.allows(options)) throw wrongKind('The options', OBJECT, options);
  const set = Object.entries(options).filter(([, value]) => value !== undefined);
  const missing = required.find((name) => !set.some(([setName]) => setName === name));
  if (missing !== undefined) throw new Error(`The option "${holder}${missing}" is required.`);
  for (const [name, value] of Object.entries(options)) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
    if (kind === undefined) throw new Error(`There is no option "${holder}${name}".`);
    if (value !== undefined && !kind.allows(value))
      throw wrongKind(`The option "${holder}${name}"`, kind, value);
  }
  return Object.fromEntries(set) as Defined<Options>;
}

function wrongKind(what: string, { words }: Kind, value: unknown): Error {
  return new Error(`${what} must be ${words}; got ${wordsForValue(value)}.`);
}

function wordsForValue(value: unknown): string {
  if (isText(value)) return quote(value);
  return typeof value === 'number' || value === undefined ? String(value) : kindOf(value as JsonValue);
}
