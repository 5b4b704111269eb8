import { deflateSync, gzipSync } from 'node:zlib';
import fc, { type Arbitrary } from 'fast-check';
import { framed } from '../../test/support/http2-call.js';
import { callerWith, type RouteDraft } from '../values/callers.js';
import { at, listOf, percent, place, weighted, words } from '../values/draws.js';
import { headerText, hostileText, word } from '../values/hostile-text.js';
import type { FuzzCase, World } from '../world.js';
import { CREATE, GET, grpcCase } from './grpc-case.js';
import type { GrpcHeaders } from './grpc-sessions.js';
import { bytesField, createMessage, getMessage, oddMessage } from './wire-messages.js';

const OTHER_PATHS = words(`
  /grpc.health.v1.Health/Check /grpc.health.v1.Health/List /grpc.health.v1.Health/Watch
  /grpc.reflection.v1.ServerReflection/ServerReflectionInfo
  /grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo`);
const UNKNOWN_PATHS = words(`
  /routing.v1.RouteService/DeleteRoute /routing.v1.RouteService/ /routing.v1.routeservice/CreateRoute
  /routing.v1.RouteService/CreateRoute?x=1 /routing.v1.RouteService/CreateRoute/
  /unknown.Service/Method /constructor/toString / // /%00 /${'a'.repeat(1_500)}`);
/** Names that health and reflection are asked for, beside hostile ones. */
const SYMBOLS = [
  '',
  ...words('routing.v1.RouteService routing.v1.Route.path google.api.http grpc.health.v1.Health'),
];
const TIMEOUTS = ['', '1 S', ...words('1S 0S 1n 99999999H 999999999H -1S 1.5S abc 5 20m 2u')];
const CONTENT_TYPES = [
  '',
  'application/grpc;x=y',
  ...words('application/grpc+proto application/grpc+json application/grpcx application/json text/html'),
];

/** Metadata that means something to the service, to grpc-js, or to some server. */
const oddMetadata = weighted<GrpcHeaders>(
  [2, fc.record({ 'grpc-timeout': fc.constantFrom(...TIMEOUTS) })],
  [1, fc.record({ 'content-type': fc.constantFrom(...CONTENT_TYPES) })],
  [1, fc.record({ 'grpc-accept-encoding': fc.constantFrom('gzip', 'identity,deflate', 'x', ',,,', '') })],
  [
    1,
    fc
      .tuple(word, fc.constantFrom('AAAA', 'A', '!!!!', '', 'AA==, AA', '\u00ff'))
      .map(([name, value]) => ({ [`${name.toLowerCase().replaceAll('~', '')}-bin`]: value })),
  ],
  [1, fc.record({ 'idempotency-key': fc.oneof(sharedKey(), headerText.map(trimmed)) })],
  [
    1,
    fc.record({
      'x-request-id': headerText.map(trimmed),
      traceparent: fc.constantFrom('', '00-1-1-1', 'x'.repeat(600)),
    }),
  ],
  [
    1,
    listOf([1, 2, 12], fc.nat(599)).map((lengths) => ({
      'x-many': lengths.map((length) => 'a'.repeat(length)),
    })),
  ],
  [1, fc.constantFrom(4_000, 8_100, 16_000).map((length) => ({ 'x-long': 'a'.repeat(length) }))],
  [1, fc.constant({ 'x-unknown-path': CREATE, 'grpc-previous-rpc-attempts': '-1' })],
);

/** A key that other cases use, too. */
export function sharedKey(): Arbitrary<string> {
  return fc.nat(98).map((number) => `key-${number}`);
}

function trimmed(text: string): string {
  return text.trim();
}

/** A body and how it claims to be encoded. */
interface Encoded {
  readonly body: Buffer;
  readonly headers?: GrpcHeaders;
}

/** Empty messages on both sides of the bound of 64 KiB, and far beyond. */
const bomb = fc.constantFrom(65_536, 65_537, 300_000).map((length) => Buffer.alloc(length));
const encoding = fc.record({
  'grpc-encoding': fc.constantFrom('gzip', 'deflate', 'identity', 'snappy', '', 'gzip, gzip'),
});

/** Puts a message behind a prefix that may lie about its length and its coding. */
const coding = weighted<(message: Buffer) => Encoded>(
  [75, fc.constant((message) => ({ body: framed(message) }))],
  [
    20,
    fc.tuple(weighted([4, fc.constant(undefined)], [1, bomb]), encoding, fc.nat(5)).map(
      ([instead, headers, way]) =>
        (message) =>
          compressed(instead ?? message, headers, way),
    ),
  ],
  [
    3,
    fc
      .tuple(
        fc.constantFrom(0, 1, 2, 127, 255),
        fc.constantFrom(0, 1, undefined, 65_537, 2 ** 31, 2 ** 32 - 1),
      )
      .map(([flag, length]) => (message) => {
        const body = framed(message);
        body.writeUInt8(flag, 0);
        body.writeUInt32BE(length ?? message.length + 1, 1);
        return { body };
      }),
  ],
  [
    3,
    fc
      .constantFrom(0, 2, 3, 20, 300)
      .map((times) => (message) => ({ body: Buffer.concat(Array<Buffer>(times).fill(framed(message))) })),
  ],
  [3, place.map((cut) => (message) => ({ body: framed(message).subarray(0, at(cut, message.length + 5)) }))],
);

function compressed(plain: Buffer, headers: GrpcHeaders, way: number): Encoded {
  switch (way) {
    case 0:
      return { body: framed(gzipSync(plain), true), headers: { 'grpc-encoding': 'gzip' } };
    case 1:
      return { body: framed(deflateSync(plain), true), headers: { 'grpc-encoding': 'deflate' } };
    case 2:
      return { body: framed(gzipSync(plain).subarray(0, -5), true), headers };
    default:
      return { body: framed(plain, way > 3), headers };
  }
}

/** Calls in sound HTTP/2 whose parts are what the contract describes, or nearly. */
export function grpcByGrammar(world: World): Arbitrary<FuzzCase> {
  return fc
    .record({
      caller: callerWith(world.token, 85),
      call: callIn(world),
      spoil: weighted([60, fc.constant((sound: Buffer) => sound)], [40, oddMessage]),
      metadata: listOf([0, 0, 1, 2], oddMetadata),
      endless: percent(1),
      encode: coding,
    })
    .map(({ caller: { credentials, draft }, call: { path, message }, spoil, metadata, endless, encode }) => {
      const { body, headers } = encode(spoil(message(draft)));
      // A streaming call goes on until its client or its time ends it.
      const lasts = endless || path.includes('Watch') || path.includes('Reflection');
      const authorization = credentials.join(', ');
      const all: GrpcHeaders = {
        ...(authorization === '' ? {} : { authorization }),
        ...metadata.reduce((all, more) => ({ ...all, ...more }), {}),
        ...(lasts ? { 'grpc-timeout': '40m' } : {}),
        ...headers,
      };
      return grpcCase({ path, headers: all, body, ends: !endless }, world);
    });
}

/** A call whose message is sound. */
interface SoundCall {
  readonly path: string;
  readonly message: (draft: RouteDraft) => Buffer;
}

function callIn({ routes }: World): Arbitrary<SoundCall> {
  const requestId = weighted([80, fc.constant('')], [12, sharedKey()], [8, fc.oneof(hostileText, word)]);
  const id = weighted([60, fc.constantFrom(...routes.map((route) => route.id))], [40, hostileText]);
  const name = weighted([60, fc.constantFrom(...SYMBOLS)], [40, hostileText]);
  const other = fc.tuple(name, fc.integer({ min: 1, max: 8 }));
  return weighted<SoundCall>(
    [
      60,
      fc.tuple(requestId, percent(20)).map(([key, dry]) => ({
        path: CREATE,
        message: (draft) => createMessage(draft, key, dry),
      })),
    ],
    [20, id.map((each) => ({ path: GET, message: () => getMessage(each) }))],
    [
      20,
      fc
        .tuple(weighted([13, fc.constantFrom(...OTHER_PATHS)], [7, fc.constantFrom(...UNKNOWN_PATHS)]), other)
        .map(([path, [symbol, field]]) => ({
          path,
          message: () => bytesField(path.includes('Reflection') ? field : 1, Buffer.from(symbol)),
        })),
    ],
  );
}
