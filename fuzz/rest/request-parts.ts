import { hostileText, word } from '../values/hostile-text.js';
import type { Random } from '../values/random.js';
import type { World } from '../world.js';

const PATHS = [
  '/',
  '/healthz',
  '/openapi.json',
  '/docs',
  '/v1/routing/',
  '/v1/routing',
  '/v1/Routing',
  '/v1//routing',
  '/v1/routing:',
  '/v1/routing/%00',
  '/v1/routing/%2e%2e',
  '/v1/routing/..%2f..',
  '/v1/routing/%ff',
  '/v1/routing/%',
  '/v1/routing/a/b',
  '/%2f%2f',
  '//v1/routing',
  '*',
  'v1/routing',
  '/v1/routing/:route_id',
  '/v1/routing/{route_id}',
  '/constructor',
  '/__proto__',
];
const CONDITIONS = ['*', '""', 'W/"x"', '"a", "b"', '"', 'x', ',', '"\u00e9"'];
const TIMEOUTS = ['5', '0.001', '1e3', '-1', '0', '0.0', '99999999999', 'abc', '', '1.', '\u00b2'];
const TRACES = ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', '00-0-0-0', 'x', '\u00ff'];
const HEADERS: readonly (readonly [name: string, values: readonly string[]])[] = [
  ['if-none-match', CONDITIONS],
  ['if-match', CONDITIONS],
  ['if-modified-since', ['Thu, 01 Jan 2099 00:00:00 GMT', 'never']],
  ['request-timeout', TIMEOUTS],
  ['traceparent', TRACES],
  ['tracestate', ['a=b', ',', '='.repeat(600)]],
  ['accept', ['application/json', 'text/html', '*/*;q=0', ',']],
  ['accept-encoding', ['gzip', 'identity;q=0', 'br;q=2']],
  ['expect', ['100-continue', '200-ok', '']],
  ['range', ['bytes=0-0', 'bytes=9-1', 'bytes=-']],
  ['connection', ['close', 'keep-alive', 'upgrade', 'authorization', 'x, y']],
  ['upgrade', ['h2c', 'websocket']],
  ['x-http-method-override', ['DELETE', 'GET']],
  ['x-forwarded-for', ['127.0.0.1', '\u00ff']],
  ['cookie', ['a=b', '=', ';;;']],
  ['origin', ['null', 'https://evil.test']],
  ['host', ['evil.test', '', 'a b', '[::1', 'a,b', 'x:99999']],
  ['__proto__', ['x']],
  ['constructor', ['x']],
];

/** A target of a get, of another path, or of none. */
export function oddTarget(random: Random, { routes }: World): string {
  const { id } = random.pick(routes);
  switch (random.below(6)) {
    case 0:
    case 1:
      return `/v1/routing/${id}`;
    case 2:
      return `/v1/routing/${random.pick([id.toUpperCase(), `${id}/`, `${id}%20`, id.slice(1), id.replaceAll('-', '')])}`;
    case 3:
      return `/v1/routing/${encodeURIComponent(word(random))}?${word(random)}`;
    case 4:
      return `/v1/routing/${targetOf(hostileText(random))}`;
    default:
      return random.pick(PATHS) + random.pick(['', '', '?', '?a=b', '#x', '?'.repeat(300)]);
  }
}

/** A header that means something to the service, or to some server. */
export function oddHeader(random: Random, { routes }: World): [name: string, value: string] {
  switch (random.below(8)) {
    case 0:
      return [
        'idempotency-key',
        random.percent(50) ? `key-${random.below(99)}` : headerValue(hostileText(random)),
      ];
    case 1:
      return ['x-request-id', headerValue(hostileText(random))];
    case 2:
      return ['if-none-match', `"${random.pick(routes).id}"`];
    case 3:
      return [`x-${word(random).replaceAll('~', '')}`, 'a'.repeat(random.pick([0, 1, 1_000, 7_000, 17_000]))];
    default: {
      const [name, values] = random.pick(HEADERS);
      return [name, random.pick(values)];
    }
  }
}

/** As much of a text as a header carries: no line break, no NUL, a byte a character. */
function headerValue(text: string): string {
  return text.replace(/[^\x20-\x7e\x80-\xff]/g, '?');
}

/** A text in a target: nothing that would end the request line, the rest as it is. */
function targetOf(text: string): string {
  return Buffer.from(text.replace(/[\s\0]/g, '%20'))
    .toString('latin1')
    .replace(/\s/g, '%20');
}
