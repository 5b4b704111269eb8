import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { deflateSync, gzipSync } from 'node:zlib';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { built } from '../support/built.js';
import { createAuthority } from '../support/certificates.js';
import { LIMITS } from '../support/grpc-limits.js';
import { frameTypes, grpcHead, sendRepeatedField } from '../support/http2-frames.js';
import { framed, outcomeOf, type RawOutcome, requestOn } from '../support/http2-call.js';
import { clientHello, stall } from '../support/tls-client.js';

const GUARDED = '/test.Service/Guarded';
/** The type of the frame that resets a stream (RFC 9113, section 6.4). */
const RST_STREAM = 0x3;
const MIB = 1_048_576;

/** Limits under which new connections may open all of their streams, and calls that never complete end soon. */
const MANY_STREAMS: typeof LIMITS = { ...LIMITS, maxWaitingCalls: 8_192, deadlineMs: 3_000 };

let server: ChildProcess;
let address: string;
let sessions: ClientHttp2Session[];

/** @param secured the certificate and the times of a server with TLS */
async function startTestServer(secured: object = {}): Promise<void> {
  built();
  const program = join(import.meta.dirname, '../support/measured-server.mjs');
  const args = [JSON.stringify(MANY_STREAMS), JSON.stringify(secured)];
  server = fork(program, args, { execArgv: ['--expose-gc'] });
  [address] = (await once(server, 'message')) as [string];
}

beforeEach(() => {
  sessions = [];
});

afterEach(async () => {
  for (const session of sessions) session.destroy();
  server.disconnect();
  await once(server, 'exit');
});

/** The bytes on and off the heap that the server holds after a garbage collection. */
async function measure(): Promise<{ held: number }> {
  server.send('measure');
  const [memory] = (await once(server, 'message')) as [{ held: number }];
  return memory;
}

/** Polls, since decoders in other threads may end a little later than the calls. */
async function expectGrowthBelow(bytes: number, before: { held: number }): Promise<void> {
  const growth = async (): Promise<number> => (await measure()).held - before.held;
  await expect.poll(growth, { timeout: 5_000 }).toBeLessThan(bytes);
}

/** A connection for at most 100 calls. */
function sessionFor(call: number): ClientHttp2Session {
  const place = Math.floor(call / 100);
  // The client's default limit would end calls that send much.
  return (sessions[place] ??= connect(`http://${address}`, { maxSessionMemory: 2_000 }).on(
    'error',
    () => undefined,
  ));
}

/** A message without its last byte. */
function unfinished(bytes: number): Buffer {
  return framed(Buffer.alloc(bytes)).subarray(0, -1);
}

describe('the server keeps nothing of', () => {
  beforeEach(() => startTestServer());

  it.each([
    // On Node 22, the messages of a connection share its window, so that some are incomplete at their deadline.
    ['600 half-sent messages of 3 MB', 600, {}, unfinished(3_000_000), status.DEADLINE_EXCEEDED],
    [
      '200 gzip messages of 4 MiB',
      200,
      { 'grpc-encoding': 'gzip' },
      framed(gzipSync(Buffer.alloc(4 * MIB)), true),
    ],
    [
      '200 deflate messages of 4 MiB',
      200,
      { 'grpc-encoding': 'deflate' },
      framed(deflateSync(Buffer.alloc(4 * MIB)), true),
    ],
  ])('%s', async (_, calls, headers, body, late: number = status.RESOURCE_EXHAUSTED) => {
    const before = await measure();
    const outcomes: Promise<RawOutcome>[] = [];
    for (let made = 0; made < calls; made++) {
      const stream = requestOn(sessionFor(made), GUARDED, headers);
      stream.write(body);
      outcomes.push(outcomeOf(stream));
    }
    const codes = (await Promise.all(outcomes)).map(({ code }) => code);
    const ends: number[] = [status.RESOURCE_EXHAUSTED, late];
    expect(codes).toContain(status.RESOURCE_EXHAUSTED);
    expect(codes.filter((code) => !ends.includes(code))).toEqual([]);
    await expectGrowthBelow(4 * MIB, before);
  });

  it('2,000 connections that begin with another protocol and are reset', async () => {
    const { hostname, port } = new URL(`http://${address}`);
    const speak = async (): Promise<void> => {
      const socket = connectTcp(Number(port), hostname).on('error', () => undefined);
      socket.write('POST / HTTP/1.1\r\nhost: x');
      // Wait for the server's first bytes.
      await once(socket, 'data');
      socket.resetAndDestroy();
      await once(socket, 'close');
    };
    const speakOften = async (times: number): Promise<void> => {
      for (let spoken = 0; spoken < times; spoken += 20) await Promise.all(Array.from({ length: 20 }, speak));
    };
    await speakOften(200);
    const before = await measure();
    await speakOften(2_000);
    await expectGrowthBelow(2 * MIB, before);
  });

  it('300 header blocks that HPACK expands to 480 KB and the server resets', async () => {
    const before = await measure();
    const sockets = Array.from({ length: 3 }, () =>
      sendRepeatedField(address, grpcHead(GUARDED), ['x-repeated', 'v'.repeat(4_000)], {
        calls: 100,
        times: 120,
      }),
    );
    const resets = sockets.map(async (socket) => {
      let received = Buffer.alloc(0);
      for await (const data of socket as AsyncIterable<Buffer>) {
        received = Buffer.concat([received, data]);
        if (frameTypes(received).filter((type) => type === RST_STREAM).length === 100) break;
      }
    });
    await Promise.all(resets);
    await expectGrowthBelow(4 * MIB, before);
  });
});

it('the server keeps nothing of 500 stalled handshakes', async () => {
  await startTestServer({ pair: createAuthority().issue(), times: { patienceMs: 300 } });
  const hello = await clientHello(['h2']);
  const round = async (): Promise<number> => {
    const { closed } = await stall(500, Number(address.split(':')[1]), hello);
    await closed;
    return (await measure()).held;
  };
  await round();
  const before = await round();
  for (let made = 0; made < 3; made++) await round();
  expect((await round()) - before).toBeLessThan(2 * MIB);
});
