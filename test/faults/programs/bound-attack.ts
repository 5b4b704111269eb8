import { setTimeout as sleep } from 'node:timers/promises';
import { firstBlock, repeatedBlock } from '../../../bench/load/hpack.js';
import { frameMessage } from '../../support/http2-call.js';
import { END_STREAM, grpcHead, INITIAL_WINDOW_SIZE } from '../../support/http2-frames.js';
import { RudeConnection, seen } from './rude-connection.js';

/** One limit of the gRPC server, exhausted by one caller. */
export interface BoundAttack {
  readonly name: keyof typeof ATTACKS;
  /** `host:port` of the gRPC server. */
  readonly grpc: string;
  readonly tls: boolean;
  readonly path: string;
  /** Public methods ignore it. */
  readonly token: string;
  /** The request message, as Base64. */
  readonly message: string;
  readonly connections: number;
  /** The number of streams on each connection. */
  readonly streams: number;
  readonly durationMs: number;
}

/** The time until connections count as idle and may each open all of their streams, in milliseconds. */
const IDLE_MS = 2_500;
/** The number of connections opened at a time. */
const AT_A_TIME = 100;
const NO_WINDOW = { [INITIAL_WINDOW_SIZE]: 0 };
/** Repeats the latest entry of the dynamic table (RFC 7541, section 6.1). */
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

/** Opens all streams of a connection. @param repeated how often the last header is repeated */
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

/** The attacks by name. Each lasts for `durationMs`. */
const ATTACKS = {
  /** Messages without their last byte. */
  async halfMessages(attack: BoundAttack) {
    const half = frameMessage(Buffer.alloc(65_000)).subarray(0, -1);
    for (const on of await idleConnections(attack))
      for (const stream of openStreams(on, attack)) on.data(stream, half);
    await sleep(attack.durationMs);
  },
  /** Complete calls with unread responses, again and again. */
  async 'unread responses'(attack: BoundAttack) {
    const opened = await idleConnections(attack, NO_WINDOW);
    const message = frameMessage(Buffer.from(attack.message, 'base64'));
    const end = Date.now() + attack.durationMs;
    while (Date.now() < end) {
      for (const on of opened)
        for (const stream of openStreams(on, attack)) on.data(stream, message, END_STREAM);
      await sleep(2_500);
    }
  },
  /** Streams with the longest headers and nothing else, all at once. */
  async heads(attack: BoundAttack) {
    const long: [string, string] = ['tracestate', 'v'.repeat(3_500)];
    for (const on of await idleConnections(attack)) openStreams(on, attack, 3, [long]);
    await sleep(attack.durationMs);
  },
};

const attack = JSON.parse(process.argv[2] ?? '') as BoundAttack;
await ATTACKS[attack.name](attack);
process.stdout.write(`${JSON.stringify({ msg: 'done', ...seen })}\n`, () => process.exit(0));
