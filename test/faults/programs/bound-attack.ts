import { setTimeout as sleep } from 'node:timers/promises';
import { deflateSync } from 'node:zlib';
import { firstBlock, repeatedBlock } from '../../../bench/load/hpack.js';
import { framed } from '../../support/http2-call.js';
import { END_STREAM, grpcHead, INITIAL_WINDOW_SIZE } from '../../support/http2-frames.js';
import { RudeConnection, seen } from './rude-connection.js';

/** One bound of the gRPC server, used up by one caller. */
export interface BoundAttack {
  readonly name: keyof typeof ATTACKS;
  /** `host:port` of the gRPC server. */
  readonly grpc: string;
  readonly tls: boolean;
  readonly path: string;
  /** Of no use to methods that need none. */
  readonly token: string;
  /** The request message, as Base64. */
  readonly message: string;
  readonly connections: number;
  /** The streams of each connection. */
  readonly streams: number;
  readonly durationMs: number;
}

/** Until the connections are idle, so that each may open all of its streams, in milliseconds. */
const IDLE_MS = 2_500;
/** So many connections are opened at a time. */
const AT_A_TIME = 100;
/** Frames of a type that nobody knows fill a read of 64 KiB, but for a byte of a message. */
const UNKNOWN_TYPE = 0x77;
const JUNK = Buffer.alloc(16_000);
const JUNK_FRAMES = 4;
/** What Node hands to a stream at a time. */
const READ_BYTES = 16_000;
/** The beginning of a message that goes on for 64 KiB. */
const BEGINNING = framed(Buffer.alloc(65_000)).subarray(0, 5);
const NO_WINDOW = { [INITIAL_WINDOW_SIZE]: 0 };
/** The last entry of the dynamic table, again (RFC 7541, section 6.1). */
const LAST_AGAIN = 0x80 | 62;

async function idleConnections(
  { grpc, tls, connections }: BoundAttack,
  values: Readonly<Record<number, number>> = {},
): Promise<RudeConnection[]> {
  const opened: RudeConnection[] = [];
  while (opened.length < connections) {
    for (let i = 0; i < AT_A_TIME && opened.length < connections; i++)
      opened.push(new RudeConnection(grpc, values, tls));
    await sleep(20);
  }
  await sleep(IDLE_MS);
  return opened;
}

/** Opens all streams of a connection. The headers that come last are named again as often as is said. */
function openStreams(
  on: RudeConnection,
  attack: BoundAttack,
  repeated = 0,
  more: [string, string][] = [],
): number[] {
  const fields = [...grpcHead(attack.path), ['authorization', `Bearer ${attack.token}`] as const, ...more];
  const again = Buffer.concat([repeatedBlock(fields), Buffer.alloc(repeated, LAST_AGAIN)]);
  return Array.from({ length: attack.streams }, (_, i) => on.begin(i === 0 ? firstBlock(fields) : again));
}

/** The attacks by name; each goes on for the given time. */
const ATTACKS = {
  /** Messages of 64 KiB that come byte by byte, each byte in a read that is full of something else. */
  async 'bytes in junk'(attack: BoundAttack) {
    const opened = await idleConnections(attack);
    const calls = opened.map((on) => [on, openStreams(on, attack)] as const);
    for (const [on, streams] of calls) for (const stream of streams) on.data(stream, BEGINNING);
    const end = Date.now() + attack.durationMs;
    while (Date.now() < end) {
      for (const [on, streams] of calls.filter(([{ usable }]) => usable)) {
        for (const stream of streams) {
          on.data(stream, Buffer.of(0));
          for (let i = 0; i < JUNK_FRAMES; i++) on.send(UNKNOWN_TYPE, 0, 0, JUNK);
        }
      }
      await sleep(1);
    }
  },
  /** As many compressed messages on each stream as fit one read: grpc-js inflates all at once. */
  async compressedMessages(attack: BoundAttack) {
    const message = framed(deflateSync(Buffer.alloc(128_000)), true);
    const messages = Buffer.concat(Array<Buffer>(Math.floor(READ_BYTES / message.length)).fill(message));
    const calls: [RudeConnection, number[]][] = [];
    for (const on of await idleConnections(attack))
      calls.push([on, openStreams(on, attack, 0, [['grpc-encoding', 'deflate']])]);
    for (const [on, streams] of calls) for (const stream of streams) on.data(stream, messages);
    await sleep(attack.durationMs);
  },
  /** Messages of which only the last byte is missing. */
  async halfMessages(attack: BoundAttack) {
    const half = framed(Buffer.alloc(65_000)).subarray(0, -1);
    for (const on of await idleConnections(attack))
      for (const stream of openStreams(on, attack)) on.data(stream, half);
    await sleep(attack.durationMs);
  },
  /** Whole calls whose responses are not read, again and again. */
  async 'unread responses'(attack: BoundAttack) {
    const opened = await idleConnections(attack, NO_WINDOW);
    const message = framed(Buffer.from(attack.message, 'base64'));
    const end = Date.now() + attack.durationMs;
    while (Date.now() < end) {
      for (const on of opened)
        for (const stream of openStreams(on, attack)) on.data(stream, message, END_STREAM);
      await sleep(2_500);
    }
  },
  /** Streams with the longest heads and nothing else, all at once. */
  async heads(attack: BoundAttack) {
    const long: [string, string] = ['tracestate', 'v'.repeat(3_500)];
    for (const on of await idleConnections(attack)) openStreams(on, attack, 3, [long]);
    await sleep(attack.durationMs);
  },
};

const attack = JSON.parse(process.argv[2] ?? '') as BoundAttack;
await ATTACKS[attack.name](attack);
process.stdout.write(`${JSON.stringify({ msg: 'done', ...seen })}\n`, () => process.exit(0));
