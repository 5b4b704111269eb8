import fc, { type Arbitrary } from 'fast-check';
import { cutting } from '../values/mutation.js';
import { escaped, type FuzzCase, type World } from '../world.js';
import { type Ending, exchange } from '../raw/exchange.js';
import { type HttpAnswer, httpAnswers } from './http-answers.js';
import { reasonOf, restFailure, restProblems } from './rest-problems.js';

/** An additional check of a REST case, after the rules for all responses. Returns the problems. */
export type FurtherCheck = (answers: readonly HttpAnswer[], signal: AbortSignal) => Promise<string[]>;

/** The last request on each connection. If the connection is still usable, the service responds and closes it. */
const LAST_ID = 'the-last';
const LAST = Buffer.from(
  `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${LAST_ID}\r\nConnection: close\r\n\r\n`,
);

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

/** Bytes for the REST gateway. */
interface RestBytes {
  readonly bytes: Buffer;
  readonly ending: Ending;
  /** The silence after which no more data is expected on the connection, in milliseconds. */
  readonly quietMs: number;
}

/** Cases that send these bytes to the REST gateway, each on a separate connection. */
export function restCases(sendings: Arbitrary<RestBytes>, world: World): Arbitrary<FuzzCase> {
  return fc.tuple(sendings, cutting).map(([sending, cut]) => {
    return restCase(sending, cut(Buffer.concat([sending.bytes, LAST])), world);
  });
}

function restCase({ bytes, ending, quietMs }: RestBytes, pieces: readonly Buffer[], world: World): FuzzCase {
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
        problems.push(`A response is incomplete; received: ${escaped(received)}`);
      return { answers: labels.length === 0 ? [`no answer (${ending})`] : labels, problems };
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
