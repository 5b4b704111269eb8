import fc, { type Arbitrary } from 'fast-check';
import { callerWith } from './callers.js';
import { listOf, percent, weighted, words } from './draws.js';
import { headerText, hostileText, word } from './hostile-text.js';
import { jsonSpoiling } from './json-body.js';

/** A header, in Latin-1. */
type Header = readonly [name: string, value: string];

/** A request in valid HTTP/1.1. */
export interface Request {
  readonly verb: string;
  readonly target: string;
  readonly headers: readonly Header[];
  readonly body?: Buffer;
  /** Whether the body is sent in chunks, rather than with its length. */
  readonly chunked: boolean;
}

/** The parts of a request. */
interface Parts extends Omit<Request, 'chunked'> {
  readonly credentials: readonly string[];
}

const VERBS = words('GET HEAD POST PUT PATCH DELETE OPTIONS TRACE PROPFIND M-SEARCH');
const PATHS = words(`
  / /healthz /openapi.json /docs /v1/routing/ /v1/routing /v1/Routing /v1//routing /v1/routing: /v1/routing/%00
  /v1/routing/%2e%2e /v1/routing/..%2f.. /v1/routing/%ff /v1/routing/% /v1/routing/a/b /%2f%2f //v1/routing *
  v1/routing /v1/routing/:route_id /v1/routing/{route_id} /constructor /__proto__`);
const CONDITIONS = ['"a", "b"', ...words('* "" W/"x" " x , "\u00e9"')];
const HEADERS: Readonly<Record<string, readonly string[]>> = {
  'if-none-match': CONDITIONS,
  'if-match': CONDITIONS,
  'if-modified-since': ['Thu, 01 Jan 2099 00:00:00 GMT', 'never'],
  'request-timeout': ['', ...words('5 0.001 1e3 -1 0 0.0 99999999999 abc 1. \u00b2')],
  traceparent: words('00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 00-0-0-0 x \u00ff'),
  tracestate: ['a=b', ',', '='.repeat(600)],
  accept: words('application/json text/html */*;q=0 ,'),
  'accept-encoding': words('gzip identity;q=0 br;q=2'),
  expect: ['100-continue', '200-ok', ''],
  range: words('bytes=0-0 bytes=9-1 bytes=-'),
  connection: ['x, y', ...words('close keep-alive upgrade authorization')],
  upgrade: ['h2c', 'websocket'],
  'x-http-method-override': ['DELETE', 'GET'],
  'x-forwarded-for': ['127.0.0.1', '\u00ff'],
  cookie: ['a=b', '=', ';;;'],
  origin: ['null', 'https://evil.test'],
  host: ['', 'a b', ...words('evil.test [::1 a,b x:99999')],
  ['__proto__']: ['x'],
  constructor: ['x'],
};
const TYPES = [
  ...['', 'application/json; charset=utf-8', 'application/json; charset="UTF-8"'],
  ...['application/json; charset=latin1', 'multipart/form-data; boundary=x'],
  ...words(
    'application/json;; application/jsonx text/plain application/x-www-form-urlencoded application/grpc',
  ),
];
/** From this length on, Node may refuse a head, in characters. */
const LONG_HEAD = 12_000;
const PLAIN_TARGET = /^\/[\x21-\x7e]*$/;
const CODINGS = ['gzip, gzip', ...words('gzip br identity zstd')];
const NAMES = words('requestId request_id validateOnly validate_only route route.id route.handler id');
const VALUES = ['', ...words('true false 1 TRUE %00 %ff % a+b %F0%9F%98%80 __proto__ a%2 =&=')];

const parameter = fc
  .tuple(
    weighted(
      [80, fc.constantFrom(...NAMES)],
      [20, fc.tuple(word, fc.constantFrom('', '[]', '.')).map((both) => both.join(''))],
    ),
    weighted([60, fc.constantFrom(...VALUES)], [40, hostileText.map(percentEncode)]),
    percent(90),
  )
  .map(([name, value, whole]) => encodeURI(name) + (whole ? `=${value.slice(0, 300)}` : ''));
/** A query with parameter names of the contract, in all spellings, or with unknown names. */
const oddQuery = fc
  .tuple(fc.array(parameter, { minLength: 1, maxLength: 4 }), fc.constantFrom('&', '&', '&&', ';'))
  .map(([parts, between]) => `?${parts.join(between)}`);

function percentEncode(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

/** A header that is meaningful to the service or to other servers. @param ids of stored routes */
function oddHeader(ids: readonly string[]): Arbitrary<Header> {
  const headerNamed = (name: string, value: Arbitrary<string>): Arbitrary<Header> =>
    value.map((content) => [name, content] as const);
  const known = Object.entries(HEADERS).map(([name, values]) =>
    headerNamed(name, fc.constantFrom(...values)),
  );
  const long = fc.constantFrom(0, 1, 1_000, 7_000, 17_000).map((length) => 'a'.repeat(length));
  return weighted<Header>(
    [1, headerNamed('idempotency-key', fc.oneof(fc.constantFrom('key-1', 'key-2'), headerText))],
    [1, headerNamed('x-request-id', headerText)],
    [1, headerNamed('if-none-match', fc.constantFrom(...ids.map((id) => `"${id}"`)))],
    [1, fc.tuple(word, long).map(([name, value]) => [`x-${name.replaceAll('~', '')}`, value] as const)],
    [4, fc.oneof(...known)],
  );
}

/** A request target: a route, nearly a route, or another path. @param ids of stored routes */
function oddTarget(ids: readonly string[]): Arbitrary<string> {
  const nearly = (id: string): string[] => [id.toUpperCase(), `${id}/`, `${id}%20`, id.slice(1)];
  const routing = weighted(
    [2, fc.constantFrom(...ids)],
    [1, fc.constantFrom(...ids.flatMap((id) => [...nearly(id), id.replaceAll('-', '')]))],
    [1, fc.tuple(word, word).map(([path, query]) => `${path}?${query}`)],
    [1, hostileText.map(targetOf)],
  ).map((name) => `/v1/routing/${name}`);
  const other = fc
    .tuple(fc.constantFrom(...PATHS), fc.constantFrom('', '', '?', '?a=b', '#x', '?'.repeat(300)))
    .map((parts) => parts.join(''));
  return weighted([5, routing], [1, other]);
}

/** A text for a request target: control characters and blanks become %20, the rest stays unescaped. */
function targetOf(text: string): string {
  return Buffer.from(text)
    .toString('latin1')
    .replace(/[^\x21-\x7e\x80-\xff]/g, '%20');
}

/**
 * Requests in valid HTTP/1.1 whose parts match the contract, or nearly do.
 *
 * @param token one that the service accepts
 * @param ids of stored routes
 */
export function requests(token: string, ids: readonly string[]): Arbitrary<Request> {
  const create = fc
    .record({
      caller: callerWith(token, 85),
      query: weighted([70, fc.constant('')], [30, oddQuery]),
      write: weighted(
        [60, fc.constant((draft: unknown) => Buffer.from(JSON.stringify(draft)))],
        [40, jsonSpoiling],
      ),
      coding: weighted<readonly Header[]>(
        [95, fc.constant([])],
        [5, fc.constantFrom(...CODINGS).map((coding) => [['content-encoding', coding] as const])],
      ),
      type: weighted([90, fc.constant('application/json')], [10, fc.constantFrom(...TYPES)]),
    })
    .map(({ caller: { credentials, draft }, query, write, coding, type }) => {
      const headers: readonly Header[] = [['content-type', type], ...coding];
      return { verb: 'POST', target: `/v1/routing${query}`, credentials, headers, body: write(draft) };
    });
  const get = fc
    .tuple(callerWith(token, 85), oddTarget(ids))
    .map(([{ credentials }, target]) => ({ verb: 'GET', target, credentials, headers: [] }));
  return fc
    .record({
      base: weighted<Parts>([60, create], [40, get]),
      verb: weighted([85, fc.constant(undefined)], [15, fc.constantFrom(...VERBS)]),
      more: listOf([0, 0, 1, 1, 2, 5], oddHeader(ids)),
      upper: percent(10),
      chunked: percent(20),
    })
    .map(({ base: { credentials, headers, ...base }, verb = base.verb, more, upper, chunked }) => {
      const all = [
        ...credentials.map((credential): Header => ['authorization', credential]),
        ...headers,
        ...more,
      ];
      const written = all.map(([name, value]): Header => [upper ? name.toUpperCase() : name, value]);
      // Node does not say the verb of a head that it refuses, so that a HEAD gets a body.
      const mayBeRefused = !PLAIN_TARGET.test(base.target) || written.flat().join().length > LONG_HEAD;
      return {
        ...base,
        verb: verb === 'HEAD' && mayBeRefused ? 'GET' : verb,
        headers: written,
        chunked,
      };
    });
}
