import { type ClientHttp2Session, connect } from 'node:http2';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { requestOn } from '../../support/http2-call.js';
import { CANCEL, grpcHead, uint32, RST_STREAM, sendRepeatedField } from '../../support/http2-frames.js';
import { open, RudeConnection, seen } from './rude-connection.js';

/** One attack. Most attacks send no token. */
export interface Attack {
  readonly name: keyof typeof ATTACKS;
  /** `host:port` of the gRPC server and of the REST gateway. */
  readonly grpc: string;
  readonly http: string;
  readonly token: string;
  readonly durationMs: number;
}

const WATCH = '/grpc.health.v1.Health/Watch';
const CREATE = '/routing.v1.RouteService/CreateRoute';
const MIB = 1024 * 1024;

function message(bytes: Buffer, claimed = bytes.length): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(claimed, 1);
  return Buffer.concat([prefix, bytes]);
}

/** The request of a health check: field 1 is the name of the service. */
function healthCheck(nameBytes: number, seed: number): Buffer {
  const name = Buffer.alloc(nameBytes, `service-${seed}-`);
  const length: number[] = [];
  let rest = nameBytes;
  for (; rest >= 128; rest >>= 7) length.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([0x0a, ...length, rest]), name]);
}

function connections(count: number, target: string): RudeConnection[] {
  return Array.from({ length: count }, () => new RudeConnection(target));
}

/** Connections that follow the protocol. */
function sessions(count: number, { grpc }: Attack): ClientHttp2Session[] {
  return Array.from({ length: count }, () => connect(`http://${grpc}`).on('error', ignore));
}

function ignore(): void {
  return undefined;
}

/** Acts on each usable connection every 2 ms, so that the attack is more than CPU load. */
async function repeat(
  { durationMs }: Attack,
  over: readonly RudeConnection[],
  act: (on: RudeConnection) => void,
): Promise<void> {
  const end = Date.now() + durationMs;
  while (Date.now() < end) {
    for (const connection of over) if (connection.usable) act(connection);
    await sleep(2);
  }
}

async function bytewise({ durationMs }: Attack, sockets: readonly Socket[]): Promise<void> {
  const end = Date.now() + durationMs;
  while (Date.now() < end) {
    for (const socket of sockets) if (socket.writable) socket.write('x');
    await sleep(300);
  }
}

/** The attacks by name. Each lasts for `durationMs`. */
export const ATTACKS = {
  async 'watches of ever-changing 60 KiB names'(attack: Attack) {
    const over = sessions(8, attack);
    let seed = 0;
    const end = Date.now() + attack.durationMs;
    while (Date.now() < end) {
      await sleep(5);
      for (const session of over) {
        const watch = requestOn(session, WATCH).on('error', ignore);
        watch.resume().end(message(healthCheck(60 * 1024, seed++)));
        setTimeout(() => {
          watch.close(CANCEL);
        }, 200);
      }
    }
  },
  async 'half-sent messages of 3 MB'(attack: Attack) {
    const part = message(Buffer.alloc(2.9 * MIB), 3 * MIB);
    for (const session of sessions(8, attack))
      for (let i = 0; i < 75; i++) requestOn(session, CREATE).on('error', ignore).write(part);
    await sleep(attack.durationMs);
  },
  async 'silent connections'(attack: Attack) {
    for (let i = 0; i < 1_000; i++) for (const target of [attack.grpc, attack.http]) open(target).resume();
    await sleep(attack.durationMs);
  },
  async 'REST bodies byte by byte'(attack: Attack) {
    const head = 'POST /v1/routing HTTP/1.1\r\nhost: service\r\ncontent-type: application/json\r\n';
    const bodies = ['', `authorization: Bearer ${attack.token}\r\n`].flatMap((authorization) =>
      Array.from({ length: 200 }, () => {
        const socket = open(attack.http).once('data', () => {
          seen.answered++;
        });
        socket.write(`${head}${authorization}content-length: 1000\r\n\r\n`);
        return socket;
      }),
    );
    await bytewise(attack, bodies);
  },
  async 'REST heads byte by byte'(attack: Attack) {
    const heads = Array.from({ length: 400 }, () => open(attack.http).resume());
    for (const socket of heads) socket.write('GET / HTTP/1.1\r\nx: ');
    await bytewise(attack, heads);
  },
  async 'headers that HPACK expands to 350 KB, over ten connections'(attack: Attack) {
    const repeated = ['x-repeated', 'v'.repeat(3_500)] as const;
    // These connections never acknowledge the settings, which would forbid such headers.
    for (let i = 0; i < 10; i++) {
      const heads = { calls: 2_000, times: 100 };
      sendRepeatedField(attack.grpc, grpcHead(CREATE), repeated, heads).on('error', ignore).resume();
    }
    await sleep(attack.durationMs);
  },
  async 'rapid resets'(attack: Attack) {
    await repeat(attack, connections(4, attack.grpc), (on) => {
      on.send(RST_STREAM, 0, on.call(CREATE), uint32(CANCEL));
    });
  },
  async 'more streams than allowed'(attack: Attack) {
    await repeat(attack, connections(8, attack.grpc), (on) => {
      on.call(CREATE, [['authorization', `Bearer ${attack.token}`]]);
    });
  },
};

const attack = JSON.parse(process.argv[2] ?? '') as Attack;
await ATTACKS[attack.name](attack);
process.stdout.write(`${JSON.stringify({ msg: 'done', ...seen })}\n`, () => process.exit(0));
