import { status } from '@grpc/grpc-js';
import { errorInfoOf, type RichError, richErrorOfReply } from '../../test/support/rich-error.js';
import { Route } from '../../src/gen/routing/v1/route_service.js';
import { misdescribed } from '../descriptions.js';
import type { Ledger, ShownRoute } from '../ledger.js';
import type { GrpcAnswer } from './grpc-sessions.js';

/** The call that got the response. */
interface SentCall {
  readonly path: string;
  readonly hasToken: boolean;
  /** Whether it may end with DEADLINE_EXCEEDED: it has a deadline or does not end. */
  readonly mayBeLate: boolean;
  readonly creates: boolean;
}

const OK: number = status.OK;
const LATE: number = status.DEADLINE_EXCEEDED;
const NEVER: readonly number[] = [
  status.UNKNOWN,
  status.ABORTED,
  status.INTERNAL,
  status.UNAVAILABLE,
  status.DATA_LOSS,
];
/** Reset codes that are allowed without a status: the client is told to stop, or is cut off because of abuse. */
const ALLOWED_RESETS: readonly number[] = [0x0, 0x8, 0xb];
/** The messages of grpc-js for calls that never reach the service, or that its own handlers serve. */
const WORDS_OF_GRPC_JS =
  /^(?:Deadline exceeded|Error deserializing request|Failed to decompress message|Invalid grpc-timeout value .*|Received (?:message compressed with unsupported encoding|message larger than max|message that decompresses to a size larger than|a second request message|no request message) .*)$/s;
const PREFIX_BYTES = 5;

/** The route in the response of a successful call; undefined if there is none. */
export function routeOf({ code, data }: GrpcAnswer): ShownRoute | undefined {
  if (code !== OK || data.length < PREFIX_BYTES) return undefined;
  const route = Route.decode(data.subarray(PREFIX_BYTES));
  return { ...route, createdAt: route.createdAt?.toISOString() ?? '' };
}

/** The failure of a call; undefined if it has no details. */
export function grpcFailure({ code, details, trailers }: GrpcAnswer): RichError | undefined {
  if (code === undefined || code === OK || trailers.get('grpc-status-details-bin').length === 0)
    return undefined;
  return richErrorOfReply({ code, details, trailers });
}

/** The reason of a failure. */
export function reasonOf(failure: RichError | undefined): string | undefined {
  return failure === undefined ? undefined : errorInfoOf(failure).reason;
}

/** Returns the contract violations of a response. */
export function grpcProblems(answer: GrpcAnswer, sent: SentCall, ledger: Ledger): string[] {
  const { code, httpStatus, resetCode, details } = answer;
  if (code === undefined) {
    if (sent.creates && sent.hasToken) ledger.unsure++;
    const known = httpStatus === 415 || ALLOWED_RESETS.includes(resetCode);
    return known
      ? []
      : [`A call ended without a status: HTTP status ${httpStatus ?? 'none'}, reset ${resetCode}.`];
  }
  const failure = grpcFailure(answer);
  const reason = reasonOf(failure);
  if (reason === 'OVERLOADED') {
    ledger.overloaded++;
    return [];
  }
  const problems = misdescribed(failure?.details ?? []);
  if (code === LATE && !sent.mayBeLate) problems.push(`A call ended with DEADLINE_EXCEEDED: ${details}`);
  if (code !== OK && reason === undefined && WORDS_OF_GRPC_JS.test(details)) return problems;
  if (NEVER.includes(code)) problems.push(`A call ended with ${status[code] ?? code}: ${details}`);
  if (code !== OK && reason === undefined) {
    problems.push(`A failure has no details: ${status[code] ?? code} ${details}`);
  }
  const route = sent.creates ? routeOf(answer) : undefined;
  if (route === undefined) return problems;
  if (!sent.hasToken) problems.push('A client without a valid token created a route.');
  return route.id === '' ? problems : [...problems, ...ledger.acknowledge(route)];
}
