import fc, { type Arbitrary } from 'fast-check';
import { restCases } from '../rest/rest-case.js';
import { callerWith, type RouteDraft, validDraft } from '../values/callers.js';
import { listOf, weighted, words } from '../values/draws.js';
import { mutation } from '../values/mutation.js';
import type { FuzzCase, World } from '../world.js';
import type { Ending } from './exchange.js';

/** Silence for longer than this means that the service waits for the rest of a request, in milliseconds. */
const QUIET_MS = 100;
/** Lines that HTTP/1.1 parsers have disagreed about. */
const LINES = [
  ...['Transfer-Encoding: chunked', 'Transfer-Encoding: gzip, chunked', 'Transfer-Encoding : chunked'],
  ...[
    'Transfer-Encoding: xchunked',
    'Transfer-Encoding:\x0bchunked',
    'Content-Length: 0',
    'Content-Length: 5',
  ],
  ...['Content-Length: +5', 'Content-Length: 5, 5', 'Content-Length: 99999999999999999999', 'Host: other'],
  ...['Connection: close', 'Connection: upgrade, HTTP2-Settings\r\nUpgrade: h2c', 'Expect: 100-continue'],
  ...['X-A: b\r\n folded', '0\r\n', '5\r\nabcde', '5;ext=1\r\nabcde', 'fffffffffffffffff', '-1'],
  ...['GET / HTTP/1.1\r\nHost: x\r\n', 'PRI * HTTP/2.0\r\n\r\nSM\r\n', '\r\n', ''],
].map((line) => `${line}\r\n`);
/** Bytes worth inserting into HTTP/1.1. */
const DICTIONARY = [
  ...LINES,
  ...['\n', '\r', '\0', ' ', '\t', '\r\n ', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ...words(': ; , % HTTP/1.0 HTTP/1.1 HTTP/2.0 HTTP/9.9'),
].map((text) => Buffer.from(text, 'latin1'));
const TARGETS = words('/healthz / * example.test:443 http://example.test/healthz /v1/routing /openapi.json');

/** One to four requests on one connection, mostly mutated, split anywhere, with responses that are not always read. */
export function http1Bytes(world: World): Arbitrary<FuzzCase> {
  const sendings = fc
    .record({
      caller: callerWith(world.token, 75, validDraft),
      requests: listOf([1, 1, 2, 4], fc.tuple(requestIn(world), validDraft)),
      spoil: weighted([85, mutation(DICTIONARY)], [15, fc.constant((bytes: Buffer) => bytes)]),
      ending: weighted<Ending>([90, fc.constant('finish')], [10, fc.constant('cut')]),
    })
    .map(({ caller: { credentials, draft }, requests, spoil, ending }) => {
      const head = [`Host: ${world.http}`, ...credentials.map((each) => `Authorization: ${each}`), ''].join(
        '\r\n',
      );
      const texts = requests.map(([request, own]) => request(head, { ...own, handler: draft.handler }));
      return { bytes: spoil(Buffer.from(texts.join(''))), ending, quietMs: QUIET_MS };
    });
  return restCases(sendings, world);
}

/** Functions that build a request from its first header lines and a route. */
function requestIn({ routes }: World): Arbitrary<(head: string, draft: RouteDraft) => string> {
  const post = (framing: (body: string, length: number) => string) => {
    return (head: string, draft: RouteDraft): string => {
      const body = JSON.stringify(draft);
      const lines = `POST /v1/routing HTTP/1.1\r\n${head}Content-Type: application/json\r\n`;
      return lines + framing(body, Buffer.byteLength(body));
    };
  };
  const chunks = (body: string, length: number): string => `${length.toString(16)}\r\n${body}\r\n0\r\n`;
  const creates = [
    post((body, length) => `Transfer-Encoding: chunked\r\n\r\n${chunks(body, length)}\r\n`),
    post(
      (body, length) => `Transfer-Encoding: chunked\r\nTrailer: x\r\n\r\n${chunks(body, length)}x: y\r\n\r\n`,
    ),
    post(
      (body, length) =>
        `Content-Length: ${length}\r\nTransfer-Encoding: chunked\r\n\r\n${chunks(body, length)}\r\n`,
    ),
    post((body, length) => `Expect: 100-continue\r\nContent-Length: ${length}\r\n\r\n${body}`),
    ...Array<ReturnType<typeof post>>(2).fill(
      post((body, length) => `Content-Length: ${length}\r\n\r\n${body}`),
    ),
  ];
  const wrongLength = fc
    .integer({ min: -9, max: 9 })
    .map((more) => post((body, length) => `Content-Length: ${length + more}\r\n\r\n${body}`));
  const target = fc.tuple(fc.constantFrom('GET', 'HEAD', 'OPTIONS', 'CONNECT'), fc.constantFrom(...TARGETS));
  const get = fc.constantFrom(...routes.map(({ id }) => ['GET', `/v1/routing/${id}`] as const));
  const others = fc.oneof(target, get).map(
    ([verb, to]) =>
      (head: string) =>
        `${verb} ${to} HTTP/1.1\r\n${head}\r\n`,
  );
  return weighted([6, fc.constantFrom(...creates)], [1, wrongLength], [2, others]);
}
