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
/** Names in health and reflection requests, besides hostile ones. */
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

const ACCEPTED = ['gzip', 'identity,deflate', 'x', ',,,', ''];
const BINARY = ['AAAA', 'A', '!!!!', '', 'AA==, AA', '\u00ff'];
const ODD = { 'x-unknown-path': CREATE, 'grpc-previous-rpc-attempts': '-1' };
const value = headerText.map((text) => text.trim());
const binaryName = word.map((name) => `${name.toLowerCase().replaceAll('~', '')}-bin`);
const trace = fc.constantFrom('', '00-1-1-1', 'x'.repeat(600));
const manyValues = listOf([1, 2, 12], fc.nat(599).map(letters));

/** Metadata that is meaningful to the service, to grpc-js, or to other servers. */
const oddMetadata: Arbitrary<GrpcHeaders> = fc.oneof(
  fc.record({ 'grpc-timeout': fc.constantFrom(...TIMEOUTS) }),
  fc.record({ 'content-type': fc.constantFrom(...CONTENT_TYPES) }),
  fc.record({ 'grpc-accept-encoding': fc.constantFrom(...ACCEPTED) }),
  fc.tuple(binaryName, fc.constantFrom(...BINARY)).map(([name, each]) => ({ [name]: each })),
  fc.record({ 'idempotency-key': fc.oneof(sharedKey(), value) }),
  fc.record({ 'x-request-id': value, traceparent: trace }),
  fc.record({ 'x-many': manyValues }),
  fc.record({ 'x-long': fc.constantFrom(4_000, 8_100, 16_000).map(letters) }),
  fc.constant(ODD),
);

function letters(length: number): string {
  return 'a'.repeat(length);
}

/** An idempotency key that other cases use, too. */
export function sharedKey(): Arbitrary<string> {
  return fc.nat(98).map((number) => `key-${number}`);
}

/** A body and its declared encoding. */
interface Encoded {
  readonly body: Buffer;
  readonly headers?: GrpcHeaders;
  /** Whether the request stays open; default: false. */
  readonly endless?: boolean;
}

/** Frames a message with a gRPC prefix, correctly or not. */
type Coding = (message: Buffer) => Encoded;

/** Messages of zeros: at the limit of 64 KiB, a byte above it, and far above it. */
const bomb = fc.constantFrom(65_536, 65_537, 300_000).map((length) => Buffer.alloc(length));
const otherMessage = weighted([4, fc.constant(undefined)], [1, bomb]);
const encoding = fc.constantFrom('gzip', 'deflate', 'identity', 'snappy', '', 'gzip, gzip');
const compression = fc.tuple(otherMessage, encoding, fc.nat(5)).map(
  ([other, name, way]): Coding =>
    (message) =>
      compressed(other ?? message, name, way),
);
/** A flag and a length that may not match the message. */
const lie = fc
  .tuple(fc.constantFrom(0, 1, 2, 127, 255), fc.constantFrom(0, 1, undefined, 65_537, 2 ** 31, 2 ** 32 - 1))
  .map(([flag, length]): Coding => (message) => {
    const body = framed(message);
    body.writeUInt8(flag, 0);
    body.writeUInt32BE(length ?? message.length + 1, 1);
    return { body };
  });
/** The approximate length of the longest body, in bytes. */
const MOST_BYTES = 1_048_576;
/**
 * No message or too many; half of the requests stay open. A client of Node 22 or later sends one body to its end before
 * the next, so that a longer one would keep the other calls on its connection waiting past their deadlines.
 */
const repetition = fc
  .tuple(fc.constantFrom(0, 2, 12, 12, 300), fc.boolean())
  .map(([times, endless]): Coding => (message) => {
    const one = framed(message);
    const most = Math.ceil(MOST_BYTES / one.length);
    return { body: Buffer.concat(Array<Buffer>(Math.min(times, most)).fill(one)), endless };
  });
const cut = place.map((to): Coding => (message) => ({
  body: framed(message).subarray(0, at(to, message.length + 5)),
}));
const sound = fc.constant<Coding>((message) => ({ body: framed(message) }));
/** Framing that may misstate the length and the encoding of a message. */
const coding = weighted([75, sound], [14, compression], [3, lie], [5, repetition], [3, cut]);

function compressed(plain: Buffer, name: string, way: number): Encoded {
  switch (way) {
    case 0:
      return { body: framed(gzipSync(plain), true), headers: { 'grpc-encoding': 'gzip' } };
    case 1:
      return { body: framed(deflateSync(plain), true), headers: { 'grpc-encoding': 'deflate' } };
    case 2:
      return { body: framed(gzipSync(plain).subarray(0, -5), true), headers: { 'grpc-encoding': name } };
    default:
      return { body: framed(plain, way > 3), headers: { 'grpc-encoding': name } };
  }
}

/** Calls in valid HTTP/2 whose parts match the contract, or nearly do. */
export function grpcByGrammar(world: World): Arbitrary<FuzzCase> {
  return fc
    .record({
      caller: callerWith(world.token, 85),
      call: callIn(world),
      spoil: weighted([60, fc.constant((sound: Buffer) => sound)], [40, oddMessage]),
      metadata: listOf([0, 0, 1, 2], oddMetadata),
      open: percent(1),
      encode: coding,
    })
    .map(({ caller: { credentials, draft }, call: { path, message }, spoil, metadata, open, encode }) => {
      const { body, headers, endless = open } = encode(spoil(message(draft)));
      // A streaming call runs until its client cancels it or its deadline passes.
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

/** A call with a well-formed message. */
interface SoundCall {
  readonly path: string;
  readonly message: (draft: RouteDraft) => Buffer;
}

function callIn({ ids }: World): Arbitrary<SoundCall> {
  const requestId = weighted([80, fc.constant('')], [12, sharedKey()], [8, fc.oneof(hostileText, word)]);
  const create = fc
    .tuple(requestId, percent(20))
    .map(([key, dry]) => ({ path: CREATE, message: (draft: RouteDraft) => createMessage(draft, key, dry) }));
  const get = weighted([60, fc.constantFrom(...ids)], [40, hostileText]).map((id) => {
    return { path: GET, message: () => getMessage(id) };
  });
  const path = weighted([13, fc.constantFrom(...OTHER_PATHS)], [7, fc.constantFrom(...UNKNOWN_PATHS)]);
  const name = weighted([60, fc.constantFrom(...SYMBOLS)], [40, hostileText]);
  const other = fc.tuple(path, name, fc.integer({ min: 1, max: 8 })).map(([to, symbol, field]) => {
    const message = bytesField(to.includes('Reflection') ? field : 1, Buffer.from(symbol));
    return { path: to, message: () => message };
  });
  return weighted<SoundCall>([60, create], [20, get], [20, other]);
}
