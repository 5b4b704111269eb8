import { inPieces } from '../values/mutation.js';
import type { Random } from '../values/random.js';
import { escaped, type FuzzCase, type World } from '../world.js';
import { type Ending, exchange } from '../raw/exchange.js';
import { type HttpAnswer, httpAnswers } from './http-answers.js';
import { reasonOf, restFailure, restProblems } from './rest-problems.js';

/** Checks a REST case beyond the rules for all answers. Returns the problems. */
export type FurtherCheck = (answers: readonly HttpAnswer[], signal: AbortSignal) => Promise<string[]>;

/** A request after all others of a connection: with its answer, the service ends a connection that is still in order. */
const LAST_ID = 'the-last';
const LAST = Buffer.from(
  `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${LAST_ID}\r\nConnection: close\r\n\r\n`,
);

/** A request in sound HTTP/1.1. */
interface SoundRest {
  readonly bytes: Buffer;
  readonly isHead: boolean;
  /** Checks beyond the rules for all answers. */
  readonly further?: FurtherCheck;
}

/** A case that sends a sound request to the REST face, on a connection that may have carried others. */
export function soundRestCase({ bytes, isHead, further }: SoundRest, random: Random, world: World): FuzzCase {
  const pieces = inPieces(bytes, random);
  return {
    shown: () => escaped(bytes),
    async send(signal) {
      const received = await world.connections.exchange({ pieces, isHead, signal });
      const { answers, rest } = httpAnswers(received);
      const { labels, problems } = judge(bytes, answers, world);
      if (rest.length > 0 || answers.length > 1)
        problems.push(`A request is not answered by one whole answer; received: ${escaped(received)}`);
      if (further !== undefined) problems.push(...(await further(answers, signal)));
      return { answers: labels.length === 0 ? ['no answer'] : labels, problems };
    },
  };
}

/** Bytes for the REST face. */
interface RestBytes {
  readonly bytes: Buffer;
  readonly ending: Ending;
  /** The silence after which nothing more comes on a connection, in milliseconds. */
  readonly quietMs: number;
}

/** A case that sends these bytes to the REST face, on a separate connection. */
export function restCase({ bytes, ending, quietMs }: RestBytes, random: Random, world: World): FuzzCase {
  const pieces = inPieces(Buffer.concat([bytes, LAST]), random);
  return {
    shown: () => escaped(bytes),
    async send(signal) {
      const { http: target, hasRead } = world;
      const asked = { target, pieces, ending, quietMs, greets: false, hasRead, signal };
      const { received, reset } = await exchange(asked);
      const { answers: all, rest } = httpAnswers(received);
      const answers = all.filter(({ headers }) => headers.get('x-request-id') !== LAST_ID);
      const { labels, problems } = judge(bytes, answers, world);
      if (ending === 'finish' && rest.length > 0 && !reset)
        problems.push(`An answer is not whole; received: ${escaped(received)}`);
      return { answers: labels.length === 0 ? [`no answer (${ending})`] : labels, problems };
    },
  };
}

/** Judges the answers to these bytes by the rules for all answers, and keeps the ledger. */
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
