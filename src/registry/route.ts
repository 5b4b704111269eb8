import { isDeepStrictEqual } from 'node:util';
import type { Violation } from './failure.js';
import { readPath } from './path-pattern.js';
import { countCodePoints, quote } from './text.js';

/** A route as a client defines it: the handler and middleware to run for certain requests. */
export interface RouteDefinition {
  /** HTTP method: an RFC 9110 token of 1 to 32 characters, case-sensitive. */
  readonly method: string;
  /** Pattern of 1 to 2048 characters, of a router that writes parameters with a colon: `/users/:id`. */
  readonly path: string;
  /** 0 to 64 names in the order in which they run; repeats are allowed. */
  readonly middleware: readonly string[];
  /** Name of 1 to 255 characters. */
  readonly handler: string;
}

/** A stored route. It never changes. */
export interface Route extends RouteDefinition {
  /** UUIDv7 (RFC 9562) in canonical lower case; its time is `createdAt`. */
  readonly id: string;
  /** Whole milliseconds. */
  readonly createdAt: Date;
}

/** The longest method, in characters: four times the longest registered one. */
export const METHOD_MAX = 32;
/** The most middleware names of one route: far above real stacks, low enough to keep a request small. */
export const MIDDLEWARE_MAX = 64;
/** The longest handler or middleware name, in code points. */
export const NAME_MAX = 255;

/** The syntax of a method: a token (RFC 9110, section 5.6.2). */
export const METHOD_SYNTAX = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Control characters and lone surrogates. */
const FORBIDDEN_IN_NAME = /[\p{Cc}\p{Cs}]/u;
// Written out, since some languages that read the OpenAPI document lack `\p`, or define `\s` differently.
const CONTROL = String.raw`\u0000-\u001f\u007f-\u009f`;
const BLANK = String.raw` \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff`;
/**
 * The syntax of a handler or middleware name: no control characters, and no whitespace at either end. Lone surrogates
 * are refused as well; text that is valid UTF-8 has none.
 */
export const NAME_SYNTAX = new RegExp(`^[^${CONTROL}${BLANK}](?:[^${CONTROL}]*[^${CONTROL}${BLANK}])?$`, 'u');

/** What a definition says. */
interface DefinitionReading {
  /** Field by field in the order of the contract; empty for a valid definition. */
  readonly violations: readonly Violation[];
  /** Whether these are all. If not, the path has so many that its reading was stopped. */
  readonly complete: boolean;
  /** As `shapeOf` has it. */
  readonly shape: string;
}

/** Checks a definition and computes its shape, parsing the path only once. */
export function readDefinition({ method, path, middleware, handler }: RouteDefinition): DefinitionReading {
  const pathReading = readPath(path);
  const violations: Violation[] = [];
  const report = (field: string, problems: readonly string[]): void => {
    for (const description of problems) violations.push({ field, description });
  };

  report('method', checkMethod(method));
  report('path', pathReading.problems);
  if (middleware.length > MIDDLEWARE_MAX)
    report('middleware', [`Must be 0 to ${MIDDLEWARE_MAX} names; got ${middleware.length}.`]);
  middleware.slice(0, MIDDLEWARE_MAX).forEach((name, index) => {
    report(`middleware[${index}]`, checkName(name));
  });
  report('handler', checkName(handler));

  return {
    violations,
    complete: pathReading.complete,
    shape: joinShape(method, pathReading.shape),
  };
}

/** The fields of a stored route that are no part of its definition: the service assigns them. */
const ASSIGNED_FIELDS: readonly (keyof Route)[] = ['id', 'createdAt'];

/** Whether two routes, stored or not, have the same definition, character by character. */
export function sameDefinition(first: RouteDefinition, second: RouteDefinition): boolean {
  const a: Partial<Route> = first;
  const b: Partial<Route> = second;
  // By key, so that a field added later is compared, too.
  const fields = Object.keys({ ...a, ...b }) as (keyof Route)[];
  return fields.every((field) => ASSIGNED_FIELDS.includes(field) || isDeepStrictEqual(a[field], b[field]));
}

/** The text that duplicates share: the method, and the path without the names of its parameters and wildcards. */
export function shapeOf({ method, path }: Pick<RouteDefinition, 'method' | 'path'>): string {
  return joinShape(method, readPath(path).shape);
}

function joinShape(method: string, erasedPath: string): string {
  return `${method} ${erasedPath}`;
}

// Each check first tests the whole value, since most are valid. A text never has more code points than its `length`, so
// they are counted only if that exceeds the limit, or if something else is wrong.

function checkMethod(method: string): string[] {
  if (method.length <= METHOD_MAX && METHOD_SYNTAX.test(method)) return [];
  const length = countCodePoints(method);
  if (length === 0)
    return [`Must be an HTTP method of 1 to ${METHOD_MAX} characters, such as "GET"; got none.`];
  const problems: string[] = [];
  if (length > METHOD_MAX) problems.push(`Must be 1 to ${METHOD_MAX} characters; got ${length}.`);
  if (!METHOD_SYNTAX.test(method))
    problems.push(
      `Must be ASCII letters, digits and any of !#$%&'*+-.^_\`|~ (RFC 9110); got ${quote(method)}.`,
    );
  return problems;
}

function checkName(name: string): string[] {
  if (name.length <= NAME_MAX && NAME_SYNTAX.test(name) && !FORBIDDEN_IN_NAME.test(name)) return [];
  const length = countCodePoints(name);
  if (length === 0) return [`Must be a name of 1 to ${NAME_MAX} characters; got none.`];

  // A name that `NAME_SYNTAX` refuses must have at least one of these problems, or it would be accepted.
  const problems: string[] = [];
  if (length > NAME_MAX) problems.push(`Must be 1 to ${NAME_MAX} characters; got ${length}.`);
  if (FORBIDDEN_IN_NAME.test(name)) problems.push(`Must have no control characters; got ${quote(name)}.`);
  if (name.trim() !== name) problems.push(`Must not begin or end with whitespace; got ${quote(name)}.`);
  return problems;
}
