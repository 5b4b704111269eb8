import type { Socket } from 'node:net';
import { status } from '@grpc/grpc-js';
import fc, { type Arbitrary } from 'fast-check';
import {
  ACK,
  DATA,
  END_STREAM,
  type Frame,
  frame,
  FrameReader,
  GOAWAY,
  HEADERS,
  PING,
  PREFACE,
  RST_STREAM,
} from '../../test/support/http2-frames.js';
import { statusIn } from '../../test/faults/programs/grpc-connection.js';
import { STREAM_RESET } from '../../test/faults/programs/load-result.js';
import { routeIn } from '../grpc/grpc-problems.js';
import type { ShownRoute } from '../ledger.js';
import { escaped, type FuzzCase, type World } from '../world.js';
import { cutting } from '../values/draws.js';
import type { Call } from './calls.js';
import { exchange } from './exchange.js';

/** The frames that a client sends on a connection to the gRPC server. */
interface Http2Sending {
  /** Everything after the preface. */
  readonly frames: readonly Frame[];
  /** Whether the client reads what the service sends. */
  readonly reads: boolean;
  /** The calls that may create a route; default: none. */
  readonly calls?: readonly Call[];
}

const NEVER: readonly number[] = [status.UNKNOWN, status.INTERNAL, status.UNAVAILABLE, status.DATA_LOSS];
const PREFIX_BYTES = 5;
const ID_BYTES = 36;
/** The payload of the last PING. Its ACK shows that the service has read everything before it. */
const LAST_PING = Buffer.from('the last');
/** The silence after which no more data is expected once the service has read everything, in milliseconds. */
const AFTERWARDS_MS = 20;

/** Cases that send these frames to the gRPC server. */
export function http2Cases(sendings: Arbitrary<Http2Sending>, world: World): Arbitrary<FuzzCase> {
  return fc.tuple(sendings, cutting).map(([sending, cut]) => http2Case(sending, cut, world));
}

function http2Case(
  { frames, reads, calls = [] }: Http2Sending,
  cut: (bytes: Buffer) => Buffer[],
  world: World,
): FuzzCase {
  const bytes = frames.map(({ type, flags, stream, payload }) => frame(type, flags, stream, payload));
  const whole = Buffer.concat([PREFACE, ...bytes, frame(PING, 0, 0, LAST_PING)]);
  const pieces = cut(whole);
  const creates = calls.filter((call) => call.creates).length;
  return {
    shown: () => escaped(whole),
    async send(signal) {
      const seen = new Set<string>();
      const reader = new FrameReader();
      const problems: string[] = [];
      let acknowledged = 0;
      const onData = (chunk: Buffer, socket: Socket): void => {
        for (const each of reader.read(chunk)) {
          seen.add(labelOf(each));
          const code = codeOf(each);
          const route = routeOf(each);
          const known = world.ledger.size;
          if (route !== undefined) problems.push(...world.ledger.acknowledge(route));
          acknowledged += world.ledger.size - known;
          if (NEVER.includes(code)) problems.push(`A call ended with ${status[code] ?? code}.`);
          if (isLastPing(each)) socket.setTimeout(AFTERWARDS_MS, () => socket.destroy());
          if (each.type === GOAWAY) socket.destroy();
        }
      };
      await exchange({ target: world.grpc, pieces, signal, onData: reads ? onData : undefined });
      world.ledger.unsure += Math.max(0, creates - acknowledged);
      return { answers: seen.size === 0 ? ['no answer'] : [...seen], problems };
    },
  };
}

function isLastPing({ type, flags, payload }: Frame): boolean {
  return type === PING && (flags & ACK) !== 0 && payload.equals(LAST_PING);
}

/**
 * The stored route in a frame that holds a whole response message. Health responses are shorter, and the route of a dry
 * run has no id.
 */
function routeOf({ type, payload }: Frame): ShownRoute | undefined {
  if (type !== DATA || payload.length < PREFIX_BYTES + ID_BYTES) return undefined;
  if (payload.readUInt32BE(1) !== payload.length - PREFIX_BYTES) return undefined;
  const route = routeIn(payload);
  return route.id === '' ? undefined : route;
}

function codeOf({ type, flags, payload }: Frame): number {
  return type === HEADERS && (flags & END_STREAM) !== 0 ? statusIn(payload) : STREAM_RESET;
}

function labelOf(each: Frame): string {
  if (each.type === RST_STREAM) return `reset ${each.payload.readUInt32BE(0)}`;
  if (each.type === GOAWAY) return `goaway ${each.payload.readUInt32BE(4)}`;
  const code = codeOf(each);
  if (code !== STREAM_RESET) return status[code] ?? String(code);
  return each.type === HEADERS ? 'headers' : 'frames';
}
