import { misdescribed } from '../descriptions.js';
import type { Ledger, ShownRoute } from '../ledger.js';
import type { HttpAnswer } from './http-answers.js';

/** The body of a failure (AIP-193). */
interface RestFailure {
  readonly code: number;
  readonly status: string;
  readonly message: string;
  readonly details: readonly {
    readonly '@type': string;
    readonly reason?: string;
    readonly domain?: string;
  }[];
}

/** The request that got the response. */
interface Sent {
  /** Whether it has a valid token. */
  readonly hasToken: boolean;
  /** Whether it sets its own timeout. */
  readonly hasTimeout: boolean;
}

/** Internals that a response must not expose. */
const INSIDE = /node_modules|\.js:\d+|SQLITE_|insert into|select `|\bER_[A-Z]|Error: |\bat \w+ \(/;

/** The failure in a response; undefined if the body is not JSON or has no `error`. */
export function restFailure({ body }: HttpAnswer): RestFailure | undefined {
  try {
    return (JSON.parse(body) as { error?: RestFailure }).error;
  } catch {
    return undefined;
  }
}

/** The reason of a failure. */
export function reasonOf(failure: RestFailure | undefined): string | undefined {
  return failure?.details.find((detail) => detail['@type'].endsWith('.ErrorInfo'))?.reason;
}

/** Returns the contract violations of a response. */
export function restProblems(answer: HttpAnswer, sent: Sent, ledger: Ledger): string[] {
  const { status, headers, body } = answer;
  if (status >= 400) return failureProblems(answer, sent, ledger);
  const problems: string[] = [];
  if (headers.has('x-powered-by')) problems.push('A response has X-Powered-By.');
  if (status !== 201) return problems;
  if (!sent.hasToken) problems.push('A client without a valid token created a route.');
  const route = JSON.parse(body) as ShownRoute;
  if (headers.get('location')?.endsWith(`/v1/routing/${route.id}`) !== true) {
    problems.push('The Location of a created route does not point to it.');
  }
  return [...problems, ...ledger.acknowledge(route)];
}

function failureProblems(answer: HttpAnswer, { hasTimeout }: Sent, ledger: Ledger): string[] {
  const { status, headers, body } = answer;
  // A response to HEAD has no body to check.
  if (body === '' && (status < 500 || (status === 504 && hasTimeout))) return [];
  const inside = INSIDE.exec(body)?.[0];
  if (inside !== undefined) return [`A failure exposes internals: ${inside}`];
  const failure = restFailure(answer);
  const reason = reasonOf(failure);
  if (failure?.code !== status || reason === undefined || headers.get('cache-control') !== 'no-store') {
    return [`A failure is not of the agreed shape: ${status} ${body}`];
  }
  if (reason === 'OVERLOADED') {
    ledger.overloaded++;
    return [];
  }
  const allowed =
    status < 500 ||
    reason === 'TRANSFER_CODING_UNSUPPORTED' ||
    (reason === 'DEADLINE_EXCEEDED' && hasTimeout);
  return [...(allowed ? [] : [`A request got status ${status}: ${body}`]), ...misdescribed(failure.details)];
}
