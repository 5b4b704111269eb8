import fc, { type Arbitrary } from 'fast-check';
import { type Field, firstBlock } from '../../bench/load/hpack.js';
import { framed } from '../../test/support/http2-call.js';
import {
  ACK,
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  type Frame,
  GOAWAY,
  grpcHead,
  HEADER_TABLE_SIZE,
  HEADERS,
  INITIAL_WINDOW_SIZE,
  number,
  PING,
  RST_STREAM,
  SETTINGS,
  settings,
  WINDOW_UPDATE,
} from '../../test/support/http2-frames.js';
import { CREATE, GET } from '../grpc/grpc-case.js';
import { createMessage, getMessage } from '../grpc/wire-messages.js';
import { FORBIDDEN } from '../ledger.js';
import { validDraft } from '../values/callers.js';
import { bytesOf, percent, weighted } from '../values/draws.js';
import type { World } from '../world.js';

/** Frame types and a flag that only the fuzzer sends (RFC 9113, section 6). */
export const PRIORITY = 0x2;
const PUSH_PROMISE = 0x5;
const PADDED = 0x8;

/** A complete call. */
export interface Call {
  /** Whether it may create a route. */
  readonly creates: boolean;
  readonly headers: Frame;
  readonly data: Frame;
}

/** The calls of a connection. */
interface CallsOptions {
  readonly paths: readonly string[];
  /** The percentage of calls with a valid token. */
  readonly good: number;
  /** The minimum and the maximum number of calls. */
  readonly count: readonly [min: number, max: number];
  /** The stream of the first call; default: 1. */
  readonly first?: number;
}

/** The first SETTINGS frame. Without a dynamic table, each header block of the service can be decoded by itself. */
export function opening(windowBytes = 65_535): Frame {
  const payload = settings({ [HEADER_TABLE_SIZE]: 0, [INITIAL_WINDOW_SIZE]: windowBytes });
  return { type: SETTINGS, flags: 0, stream: 0, payload };
}

/** The header block of a call (RFC 7541). */
export function headerBlock(path: string, good: boolean, world: World, more: readonly Field[] = []): Buffer {
  const authorization: Field[] = good ? [['authorization', `Bearer ${world.token}`]] : [];
  return firstBlock([...grpcHead(path, world.grpc), ...authorization, ...more]);
}

/** Complete calls on one connection, each on the next stream. */
export function callsOf({ paths, good, count, first = 1 }: CallsOptions, world: World): Arbitrary<Call[]> {
  const call = fc.record({
    path: fc.constantFrom(...paths),
    isGood: percent(good),
    draft: validDraft,
    id: fc.constantFrom(...world.routes.map((route) => route.id)),
  });
  const [minLength, maxLength] = count;
  return fc.array(call, { minLength, maxLength, size: 'max' }).map((calls) =>
    calls.map(({ path, isGood, draft, id }, i) => {
      const stream = first + 2 * i;
      const route = isGood ? draft : { ...draft, handler: FORBIDDEN };
      const message = path === CREATE ? createMessage(route) : getMessage(id);
      return {
        creates: isGood && path === CREATE,
        headers: { type: HEADERS, flags: END_HEADERS, stream, payload: headerBlock(path, isGood, world) },
        data: { type: DATA, flags: END_STREAM, stream, payload: framed(message) },
      };
    }),
  );
}

const STREAMS = [0, 1, 1, 3, 2, 5, 9, 0x7fffffff];
const CONNECTION = [0];
const VALUES = [0, 1, 16_383, 16_384, 65_535, 2 ** 24, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1];
const FIELDS: readonly (readonly Field[])[] = [
  [['connection', 'close']],
  [['transfer-encoding', 'chunked']],
  [['UPPER', 'x']],
  [['', 'x']],
  [['a b', 'x']],
  [['x', 'a\r\nb: c']],
  [['x', '\0']],
  [[':path', '/']],
  [[':unknown', '/']],
  [['content-length', '5']],
  [['content-length', '-1']],
  ...['authorization', 'cookie', 'grpc-timeout'].map((name): Field[] => [
    [name, '1S'],
    [name, '2S'],
  ]),
];
/** Indexes that do not exist, a table larger than allowed, and an integer without an end. */
const INDEXES = ['80', 'ffffffffff7f', '3fffff7f', 'ff'.repeat(40)].map((hex) => Buffer.from(hex, 'hex'));

function frameOf(
  type: number,
  flags: readonly number[],
  payload: Arbitrary<Buffer>,
  streams = STREAMS,
): Arbitrary<Frame> {
  const [flag, stream] = [fc.constantFrom(...flags), fc.constantFrom(...streams)];
  return fc.record({ type: fc.constant(type), flags: flag, stream, payload });
}

/** A frame that is unusual or invalid where it is sent. */
export function oddFrame(world: World): Arbitrary<Frame> {
  const set = fc.array(fc.tuple(fc.nat(9), fc.constantFrom(...VALUES)), { minLength: 1, maxLength: 4 });
  const path = fc.constantFrom(CREATE, GET, '', '/', 'no-slash', '/a b', '/\u00ff');
  const block = weighted(
    [1, bytesOf(1, 4, 12, 40)],
    [1, fc.constantFrom(...INDEXES)],
    [2, fc.tuple(path, fc.constantFrom(...FIELDS)).map(([to, more]) => headerBlock(to, false, world, more))],
  );
  const goAway = fc.tuple(fc.constantFrom(...STREAMS), fc.nat(13), bytesOf(9));
  const any = fc.record({
    type: fc.nat(255),
    flags: fc.nat(255),
    stream: fc.constantFrom(...STREAMS),
    payload: bytesOf(0, 1, 8, 29),
  });
  return fc.oneof(
    frameOf(WINDOW_UPDATE, [0], fc.constantFrom(0, 1, 0x7fffffff, 0x80000000).map(number)),
    frameOf(
      SETTINGS,
      [0, ACK],
      set.map((pairs) => settings(Object.fromEntries(pairs))),
      CONNECTION,
    ),
    frameOf(SETTINGS, [0], bytesOf(0, 5, 6, 7)),
    frameOf(PING, [0, ACK], bytesOf(8, 8, 7), CONNECTION),
    frameOf(RST_STREAM, [0], fc.constantFrom(0, 8, 0xffffffff).map(number)),
    // The priority of a stream that depends on itself, or on one that does not exist.
    frameOf(PRIORITY, [0], fc.constantFrom('0000000100', '0000000300', '0000006300').map(hexadecimal)),
    frameOf(DATA, [0, END_STREAM, PADDED], bytesOf(0, 1, 5, 19)),
    frameOf(CONTINUATION, [0, END_HEADERS], bytesOf(0, 1, 8)),
    frameOf(PUSH_PROMISE, [END_HEADERS], fc.constant(number(2))),
    frameOf(HEADERS, [END_HEADERS, END_HEADERS | END_STREAM, 0, 0x2c], block),
    frameOf(
      GOAWAY,
      [0],
      goAway.map(([last, code, bytes]) => Buffer.concat([number(last), number(code), bytes])),
      CONNECTION,
    ),
    any,
  );
}

function hexadecimal(text: string): Buffer {
  return Buffer.from(text, 'hex');
}
