import { hostileText, word } from '../values/hostile-text.js';
import type { Random } from '../values/random.js';
import type { GrpcHeaders } from './grpc-sessions.js';

const TIMEOUTS = [
  '1S',
  '0S',
  '1n',
  '99999999H',
  '999999999H',
  '-1S',
  '1.5S',
  'abc',
  '',
  '5',
  '20m',
  '1 S',
  '2u',
];
const CONTENT_TYPES = [
  'application/grpc+proto',
  'application/grpc+json',
  'application/grpc;x=y',
  'application/grpcx',
  'application/json',
  'text/html',
  '',
];

/** Metadata that means something to the service, to grpc-js, or to some server. */
export function oddMetadata(random: Random): GrpcHeaders {
  switch (random.below(10)) {
    case 0:
    case 1:
      return { 'grpc-timeout': random.pick(TIMEOUTS) };
    case 2:
      return { 'content-type': random.pick(CONTENT_TYPES) };
    case 3:
      return {
        te: 'trailers',
        'grpc-accept-encoding': random.pick(['gzip', 'identity,deflate', 'x', ',,,', '']),
      };
    case 4:
      return {
        [`${word(random).toLowerCase().replaceAll('~', '')}-bin`]: random.pick([
          'AAAA',
          'A',
          '!!!!',
          '',
          'AA==, AA',
          '\u00ff',
        ]),
      };
    case 5:
      return { 'idempotency-key': random.percent(50) ? `key-${random.below(99)}` : value(random) };
    case 6:
      return { 'x-request-id': value(random), traceparent: random.pick(['', '00-1-1-1', 'x'.repeat(600)]) };
    case 7:
      return {
        [`x-${random.below(9)}`]: random.list(random.pick([1, 2, 12]), () => 'a'.repeat(random.below(600))),
      };
    case 8:
      return { 'x-long': 'a'.repeat(random.pick([4_000, 8_100, 16_000])) };
    default:
      return { 'x-unknown-path': '/routing.v1.RouteService/CreateRoute', 'grpc-previous-rpc-attempts': '-1' };
  }
}

/** As much of a hostile text as a header carries. */
function value(random: Random): string {
  return hostileText(random)
    .replace(/[^\x20-\x7e\x80-\xff]/g, '?')
    .trim();
}
