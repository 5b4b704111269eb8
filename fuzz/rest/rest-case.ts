import { inPieces } from '../values/mutation.js';
import type { Random } from '../values/random.js';
import { escaped, type FuzzCase, type World } from '../world.js';
import { type Ending, exchange } from '../raw/exchange.js';
import { type HttpAnswer, httpAnswers } from './http-answers.js';
import { reasonOf, restFailure, restProblems } from './rest-problems.js';

/** What a REST case expects beyond the rules for all answers: returns what is wrong. */
export type FurtherCheck = (answers: readonly HttpAnswer[], signal: AbortSignal) => Promise<string[]>;

/** A request after all others of a connection: with its answer, the service ends a connection that is still in order. */
const LAST_ID = 'the-last';
const LAST = Buffer.from(
  `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${LAST_ID}\r\nConnection: close\r\n\r\n`,
);

/** A case that sends requests to the REST face. */
export interface RestBytes {
  readonly bytes: Buffer;
  readonly ending: Ending;
  /** How long the service is given for its next answer, in milliseconds. */
  readonly quietMs: number;
  /** Checks beyond the rules for all answers. */
  readonly further?: FurtherCheck;
}

/** A case that sends these bytes to the REST face. */
export function restCase(
  { bytes, ending, quietMs, further }: RestBytes,
  random: Random,
  world: World,
): FuzzCase {
  const pieces = inPieces(Buffer.concat([bytes, LAST]), random);
  return {
    shown: () => escaped(bytes),
    async send(signal) {
      const received = await exchange({ target: world.http, pieces, ending, quietMs, signal });
      const { answers: all, rest } = httpAnswers(received);
      const answers = all.filter(({ headers }) => headers.get('x-request-id') !== LAST_ID);
      const text = bytes.toString('latin1');
      const hasToken = text.includes(world.token);
      const creates = hasToken ? text.split('POST').length - 1 : 0;
      const sent = { hasToken, hasTimeout: /request-timeout/i.test(text) };
      world.ledger.unsure += Math.max(0, creates - answers.length);
      const problems = answers.flatMap((answer) => restProblems(answer, sent, world.ledger));
      if (ending === 'finish' && rest.length > 0)
        problems.push(`An answer is not whole; received: ${escaped(received)}`);
      if (further !== undefined) problems.push(...(await further(answers, signal)));
      return { answers: answers.length === 0 ? [`no answer (${ending})`] : answers.map(labelOf), problems };
    },
  };
}

function labelOf(answer: HttpAnswer): string {
  const reason = answer.status >= 400 ? reasonOf(restFailure(answer)) : undefined;
  return reason === undefined ? String(answer.status) : `${answer.status} ${reason}`;
}
