import { inPieces } from '../values/mutation.js';
import type { Random } from '../values/random.js';
import { escaped, type FuzzCase, type Outcome, type World } from '../world.js';
import { type Ending, exchange } from '../raw/exchange.js';
import { type HttpAnswer, httpAnswers } from './http-answers.js';
import { reasonOf, restFailure, restProblems } from './rest-problems.js';

/** What a REST case expects beyond the rules for all answers: returns what is wrong. */
export type FurtherCheck = (answers: readonly HttpAnswer[]) => Promise<string[]>;

/** A case that sends these bytes to the REST face. */
export function restCase(
  bytes: Buffer,
  ending: Ending,
  random: Random,
  world: World,
  further: FurtherCheck = () => Promise.resolve([]),
): FuzzCase {
  const pieces = inPieces(bytes, random);
  return {
    shown: escaped(bytes),
    async send() {
      const { received, ended } = await exchange(world.http, pieces, ending);
      const { answers, rest } = httpAnswers(received);
      const text = bytes.toString('latin1');
      const hasToken = text.includes(world.token);
      const creates = hasToken ? text.split('POST').length - 1 : 0;
      const sent = { hasToken, hasTimeout: /request-timeout/i.test(text) };
      world.ledger.unsure += Math.max(0, creates - answers.length);
      const problems = answers.flatMap((answer) => restProblems(answer, sent, world.ledger));
      if (ending === 'finish' && rest.length > 0) problems.push(`An answer is not whole: ${escaped(rest)}`);
      if (!ended) problems.push('The connection of a client that has finished stays open.');
      return {
        answers: answers.length === 0 ? [`no answer (${ending})`] : answers.map(labelOf),
        problems: [...problems, ...(await further(answers))],
      } satisfies Outcome;
    },
  };
}

function labelOf(answer: HttpAnswer): string {
  const reason = answer.status >= 400 ? reasonOf(restFailure(answer)) : undefined;
  return reason === undefined ? String(answer.status) : `${answer.status} ${reason}`;
}
