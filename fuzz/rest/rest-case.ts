import fc, { type Arbitrary } from 'fast-check';
import { cutting } from '../values/draws.js';
import { escaped, type FuzzCase, type World } from '../world.js';
import { type HttpAnswer, httpAnswers } from './http-answers.js';
import { reasonOf, restFailure, restProblems } from './rest-problems.js';

/** An additional check of a REST case, after the rules for all responses. Returns the problems. */
export type FurtherCheck = (answers: readonly HttpAnswer[], signal: AbortSignal) => Promise<string[]>;

/** A request in valid HTTP/1.1. */
interface SoundRest {
  readonly bytes: Buffer;
  readonly isHead: boolean;
  /** Additional checks, after the rules for all responses. */
  readonly further?: FurtherCheck;
}

/** Cases that send valid HTTP/1.1 requests to the REST gateway, on connections that are reused. */
export function soundRestCases(requests: Arbitrary<SoundRest>, world: World): Arbitrary<FuzzCase> {
  return fc
    .tuple(requests, cutting)
    .map(([request, cut]) => soundRestCase(request, cut(request.bytes), world));
}

function soundRestCase(
  { bytes, isHead, further }: SoundRest,
  pieces: readonly Buffer[],
  world: World,
): FuzzCase {
  return {
    shown: () => escaped(bytes),
    async send(signal) {
      const received = await world.connections.exchange({ pieces, isHead, signal });
      const { answers, rest } = httpAnswers(received);
      const { labels, problems } = judge(bytes, answers, world);
      if (rest.length > 0 || answers.length > 1)
        problems.push(`A request did not get exactly one complete response; received: ${escaped(received)}`);
      if (further !== undefined) problems.push(...(await further(answers, signal)));
      return { answers: labels.length === 0 ? ['no answer'] : labels, problems };
    },
  };
}

/** Checks the responses to these bytes against the rules for all responses, and updates the ledger. */
function judge(
  bytes: Buffer,
  answers: readonly HttpAnswer[],
  { token, ledger }: World,
): { labels: string[]; problems: string[] } {
  const text = bytes.toString('latin1');
  const hasToken = text.includes(token);
  const creates = hasToken ? text.split('POST').length - 1 : 0;
  ledger.unsure += Math.max(0, creates - answers.length);
  const sent = { hasToken, hasTimeout: /request-timeout/i.test(text) };
  return {
    labels: answers.map(labelOf),
    problems: answers.flatMap((answer) => restProblems(answer, sent, ledger)),
  };
}

function labelOf(answer: HttpAnswer): string {
  const reason = answer.status >= 400 ? reasonOf(restFailure(answer)) : undefined;
  return reason === undefined ? String(answer.status) : `${answer.status} ${reason}`;
}
