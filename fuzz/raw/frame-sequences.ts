import type { Field } from '../../bench/load/hpack.js';
import { firstBlock } from '../../bench/load/hpack.js';
import { framed } from '../../test/support/http2-call.js';
import {
  ACK,
  DATA,
  END_HEADERS,
  END_STREAM,
  type Frame,
  frame,
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
import { STRANGER } from '../ledger.js';
import type { Random } from '../values/random.js';
import { validDraft } from '../values/route-draft.js';
import type { World } from '../world.js';

/** Frame types that the programs of the fault tests do not send (RFC 9113, section 6). */
export const PRIORITY = 0x2;
const PUSH_PROMISE = 0x5;
export const CONTINUATION = 0x9;
export const NO_BYTES = Buffer.alloc(0);

/** The path of a call and whether it has a good token. */
interface CallHead {
  readonly path: string;
  readonly good: boolean;
}

/** The bytes of frames. */
export function bytesOf(frames: readonly Frame[]): Buffer {
  return Buffer.concat(frames.map(({ type, flags, stream, payload }) => frame(type, flags, stream, payload)));
}

/** The settings that begin a connection. Without a table, each block of the service's headers stands for itself. */
export function opening(windowBytes = 65_535): Frame[] {
  const values = settings({ [HEADER_TABLE_SIZE]: 0, [INITIAL_WINDOW_SIZE]: windowBytes });
  return [{ type: SETTINGS, flags: 0, stream: 0, payload: values }];
}

/** The headers of a call as a block (RFC 7541). */
export function headerBlock({ path, good }: CallHead, world: World, more: readonly Field[] = []): Buffer {
  const authorization: Field[] = good ? [['authorization', `Bearer ${world.token}`]] : [];
  return firstBlock([...grpcHead(path, world.grpc), ...authorization, ...more]);
}

/** The frames of one whole call. */
export function call(stream: number, head: CallHead, random: Random, world: World): Frame[] {
  const draft = head.good ? validDraft(random) : { ...validDraft(random), handler: STRANGER };
  const message = head.path === CREATE ? createMessage(draft) : getMessage(random.pick(world.routes).id);
  return [
    { type: HEADERS, flags: END_HEADERS, stream, payload: headerBlock(head, world) },
    { type: DATA, flags: END_STREAM, stream, payload: framed(message) },
  ];
}

/** A frame that is odd where it stands, with what is odd about it. */
export function oddFrame(streams: number, random: Random, world: World): Frame {
  const stream = random.pick([0, 1, 1, 3, 2, 2 * streams + 1, 0x7fffffff]);
  switch (random.below(12)) {
    case 0:
      return {
        type: WINDOW_UPDATE,
        flags: 0,
        stream,
        payload: number(random.pick([0, 1, 0x7fffffff, 0x80000000])),
      };
    case 1:
      return {
        type: SETTINGS,
        flags: random.pick([0, ACK]),
        stream: 0,
        payload: settings(oddSettings(random)),
      };
    case 2:
      return { type: SETTINGS, flags: 0, stream, payload: random.bytes(random.pick([0, 5, 6, 7])) };
    case 3:
      return {
        type: PING,
        flags: random.pick([0, ACK]),
        stream: 0,
        payload: random.bytes(random.pick([8, 8, 7])),
      };
    case 4:
      return { type: RST_STREAM, flags: 0, stream, payload: number(random.pick([0, 8, 0xffffffff])) };
    case 5:
      // The priority of a stream that depends on itself, or on one that is not there.
      return {
        type: PRIORITY,
        flags: 0,
        stream,
        payload: Buffer.concat([number(random.pick([stream, 0, 99])), Buffer.alloc(1)]),
      };
    case 6:
      return {
        type: DATA,
        flags: random.pick([0, END_STREAM, 0x8]),
        stream,
        payload: random.bytes(random.below(20)),
      };
    case 7:
      return {
        type: CONTINUATION,
        flags: random.pick([0, END_HEADERS]),
        stream,
        payload: random.bytes(random.below(9)),
      };
    case 8:
      return { type: PUSH_PROMISE, flags: END_HEADERS, stream, payload: number(2) };
    case 9:
      return {
        type: HEADERS,
        flags: random.pick([END_HEADERS, END_HEADERS | END_STREAM, 0, 0x2c]),
        stream,
        payload: oddBlock(random, world),
      };
    case 10:
      return {
        type: 0x7,
        flags: 0,
        stream: 0,
        payload: Buffer.concat([number(stream), number(random.below(14)), random.bytes(9)]),
      };
    default:
      return {
        type: random.below(256),
        flags: random.below(256),
        stream,
        payload: random.bytes(random.below(30)),
      };
  }
}

function oddSettings(random: Random): Record<number, number> {
  const value = (): number =>
    random.pick([0, 1, 16_383, 16_384, 65_535, 2 ** 24, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]);
  return Object.fromEntries(random.list(random.between(1, 4), () => [random.between(0, 9), value()]));
}

/** Blocks that HPACK does not allow, or gRPC does not. */
function oddBlock(random: Random, world: World): Buffer {
  const path = random.pick([CREATE, GET, '', '/', 'no-slash', '/a b', '/\u00ff']);
  const more = random.pick<Field[]>([
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
    [
      ['authorization', 'Bearer a'],
      ['authorization', 'Bearer b'],
    ],
    [
      ['cookie', 'a'],
      ['cookie', 'b'],
    ],
    [
      ['grpc-timeout', '1S'],
      ['grpc-timeout', '2S'],
    ],
  ]);
  switch (random.below(4)) {
    case 0:
      return random.bytes(random.between(1, 40));
    case 1:
      // An index that is not there, a table larger than allowed, an integer without end.
      return random.pick([
        Buffer.of(0x80),
        Buffer.of(0xff, 0xff, 0xff, 0xff, 0xff, 0x7f),
        Buffer.of(0x3f, 0xff, 0xff, 0x7f),
        Buffer.alloc(40, 0xff),
      ]);
    default:
      return headerBlock({ path, good: false }, world, more);
  }
}
