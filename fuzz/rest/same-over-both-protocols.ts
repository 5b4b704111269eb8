import { isDeepStrictEqual } from 'node:util';
import { status } from '@grpc/grpc-js';
import { framed } from '../../test/support/http2-call.js';
import { CREATE, GET } from '../grpc/grpc-case.js';
import {
  grpcFailure,
  grpcProblems,
  reasonOf as grpcReasonOf,
  routeOf as answeredRoute,
} from '../grpc/grpc-problems.js';
import { createMessage, getMessage } from '../grpc/wire-messages.js';
import type { ShownRoute } from '../ledger.js';
import type { RouteDraft } from '../values/callers.js';
import type { World } from '../world.js';
import { type HttpAnswer, httpAnswers } from './http-answers.js';
import type { FurtherCheck } from './rest-case.js';
import { restFailure } from './rest-problems.js';

/** A create, independent of the protocol. */
interface Create {
  readonly route: RouteDraft;
  /** Empty for none. */
  readonly requestId: string;
  readonly validateOnly: boolean;
}

const OK: number = status.OK;
/** Lone surrogates, which JSON can represent and protocol buffers cannot. */
const NO_TEXT = /\p{Cs}/u;
/** The limit on bodies, in bytes. */
const MAX_BYTES = 65_536;
/** The most that JSON makes of a character: `\u0000`. */
const ESCAPED_BYTES = 6;

/**
 * Checks that a create over REST returns the route that was sent, that both protocols then return this route, and that
 * the same create over gRPC has the same outcome.
 */
export function sameOverBothProtocols(create: Create, world: World): FurtherCheck {
  return async ([answer, ...more], signal) => {
    if (answer === undefined || more.length > 0) return ['A create got no response, or several.'];
    if (answer.status === 413 && mayBeTooLarge(create.route)) return [];
    if (
      Object.values(create.route)
        .flat()
        .some((text: string) => NO_TEXT.test(text))
    ) {
      return answer.status === 400 ? [] : [`A create with a lone surrogate got status ${answer.status}.`];
    }
    const verdict = await verdictProblems(create, answer, world, signal);
    if (answer.status >= 300) return verdict;
    return [...verdict, ...(await storedProblems(create, answer, world, signal))];
  };
}

/** Whether the JSON of a route may be over the limit, while its message over gRPC need not be. */
function mayBeTooLarge(route: RouteDraft): boolean {
  return JSON.stringify(route).length * ESCAPED_BYTES > MAX_BYTES;
}

async function verdictProblems(
  create: Create,
  answer: HttpAnswer,
  world: World,
  signal: AbortSignal,
): Promise<string[]> {
  const headers = { authorization: `Bearer ${world.token}` };
  const body = framed(createMessage(create.route, create.requestId, create.validateOnly));
  const again = await world.sessions.call({ path: CREATE, headers, body, ends: true }, signal);
  const sent = { path: CREATE, hasToken: true, mayBeLate: false, creates: true };
  const problems = grpcProblems(again, sent, world.ledger);
  if (again.code === undefined)
    return [
      ...problems,
      `A valid call ended without a status: HTTP status ${again.httpStatus ?? 'none'}, reset ${again.resetCode}.`,
    ];
  const failure = grpcFailure(again);
  if ([grpcReasonOf(failure), answer.status].some((code) => code === 'OVERLOADED' || code === 429))
    return problems;
  if (answer.status < 300 && again.code === OK) {
    const same =
      create.requestId === '' || isDeepStrictEqual(answeredRoute(again)?.id, routeOf(answer).id ?? '');
    return same ? problems : [...problems, 'A retry of a create over gRPC created a second route.'];
  }
  const overRest = restFailure(answer);
  const verdicts = [overRest, failure].map((each) => ({
    status: each?.status,
    message: each?.message,
    details: each && withoutRequest(each.details),
  }));
  return isDeepStrictEqual(verdicts[0], verdicts[1])
    ? problems
    : [
        ...problems,
        `The protocols differ: ${JSON.stringify(verdicts[0])} over REST, ${JSON.stringify(verdicts[1])} over gRPC.`,
      ];
}

/** The details of a failure, except those that identify the call. */
function withoutRequest(details: unknown): unknown[] {
  return (details as { '@type': string }[]).filter((detail) => !detail['@type'].endsWith('.RequestInfo'));
}

async function storedProblems(
  { route, validateOnly }: Create,
  answer: HttpAnswer,
  world: World,
  signal: AbortSignal,
): Promise<string[]> {
  const shown = routeOf(answer);
  const { id, createdAt, ...rest } = shown;
  const problems = isDeepStrictEqual(rest, route)
    ? []
    : [`A create of ${JSON.stringify(route)} returned a different route.`];
  if (validateOnly) {
    return id === undefined && createdAt === undefined
      ? problems
      : [...problems, 'A dry run returned an id or a creation time.'];
  }
  const headers = { authorization: `Bearer ${world.readToken}` };
  const request = `GET /v1/routing/${String(id)} HTTP/1.1\r\nhost: x\r\nauthorization: ${headers.authorization}\r\n\r\n`;
  const body = framed(getMessage(String(id)));
  const pieces = [Buffer.from(request)];
  const [received, over] = await Promise.all([
    world.connections.exchange({ pieces, isHead: false, signal }),
    world.sessions.call({ path: GET, headers, body, ends: true }, signal),
  ]);
  const [got] = httpAnswers(received).answers;
  if (got?.body !== answer.body) problems.push('GET returns a different body than the create.');
  if (!isDeepStrictEqual(answeredRoute(over), shown))
    problems.push('gRPC returns a different route than REST created.');
  return problems;
}

function routeOf({ body }: HttpAnswer): Partial<ShownRoute> {
  return JSON.parse(body) as Partial<ShownRoute>;
}
