import { expect } from 'vitest';
import type { Answer } from './exchange.js';
import type { Request } from './requests.js';

/** The body of a failure (AIP-193). */
interface Failure {
  readonly code: number;
  readonly details: readonly Detail[];
}

interface Detail {
  readonly '@type': string;
  readonly reason?: string;
  readonly fieldViolations?: readonly { readonly field: string; readonly description: string }[];
}

/** A created route, as a response shows it. */
interface ShownRoute {
  readonly id: string;
}

/** Internals that a response must not expose. */
const INSIDE = /node_modules|\.js:\d+|SQLITE_|insert into|select `|\bER_[A-Z]|Error: |\bat \w+ \(/;
/** What is allowed, then what came; the latter is cut, however much a client sends. */
const DESCRIPTION = /^Must [^]{1,900}; got [^]{1,900}\.$/;

/**
 * Checks the rules that every response keeps.
 *
 * @param token the one that the service accepts
 * @returns the id of the route that was created, if one was
 * @throws AssertionError when the response breaks one
 */
export function expectRules(answer: Answer, request: Request, token: string): string | undefined {
  const { status, headers, body } = answer;
  expect(headers, 'a response does not name its software').not.toHaveProperty('x-powered-by');
  if (status >= 400) expectFailure(answer, hasTimeout(request));
  if (status !== 201) return undefined;
  const { id } = JSON.parse(body) as ShownRoute;
  const hasToken = request.headers.some(([, value]) => value === `Bearer ${token}`);
  expect(hasToken, 'only a client with a valid token creates a route').toBe(true);
  expect(headers.location, 'the Location of a created route').toMatch(new RegExp(`/v1/routing/${id}$`));
  return id;
}

/** Whether a request sets its own timeout, so that a create may be stored although its response came too late. */
export function hasTimeout({ headers }: Request): boolean {
  return headers.some(([name]) => name.toLowerCase() === 'request-timeout');
}

function expectFailure({ status, headers, body, verb }: Answer, mayBeLate: boolean): void {
  // Above 499, only these two are the client's doing.
  const isAllowed = status < 500 || status === 501 || (status === 504 && mayBeLate);
  expect(isAllowed, `${status} ${body}`).toBe(true);
  if (verb === 'HEAD') return;
  expect(body, 'a failure does not expose internals').not.toMatch(INSIDE);
  const { error } = JSON.parse(body) as { error: Failure };
  expect(error.code).toBe(status);
  expect(headers['cache-control']).toBe('no-store');
  const infos = error.details.filter((detail) => detail['@type'].endsWith('.ErrorInfo'));
  const reason = status === 501 ? /^TRANSFER_CODING_UNSUPPORTED$/ : /^[A-Z_]+$/;
  expect(infos).toEqual([expect.objectContaining({ reason: expect.stringMatching(reason) as string })]);
  for (const { description } of error.details.flatMap(({ fieldViolations = [] }) => fieldViolations))
    expect(description).toMatch(DESCRIPTION);
}
