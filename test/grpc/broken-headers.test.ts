import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { firstBlock } from '../../bench/load/hpack.js';
import {
  ACK,
  END_HEADERS,
  END_STREAM,
  frame,
  frameTypes,
  GOAWAY,
  HEADERS,
  PING,
  PREFACE,
  SETTINGS,
  socketTo,
} from '../support/http2-frames.js';
import { requireBuild } from '../support/build-folder.js';
import { LIMITS } from '../support/grpc-limits.js';

const NO_BYTES = Buffer.alloc(0);
const HEAD = firstBlock([
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/test.Service/Guarded'],
  [':authority', 'localhost'],
  ['content-type', 'application/grpc'],
  ['te', 'trailers'],
]);
/** Trailers must have no pseudo-header (RFC 9113, section 8.1). The header before it stays with the stream. */
const BROKEN_TRAILERS = firstBlock([
  ['x-kept', 'v'.repeat(300)],
  [':path', '/'],
]);
const OPENING = Buffer.concat([
  PREFACE,
  frame(SETTINGS, 0, 0, NO_BYTES),
  frame(HEADERS, END_HEADERS, 1, HEAD),
  frame(PING, 0, 0, Buffer.alloc(8)),
]);
const BREAKING = frame(HEADERS, END_HEADERS | END_STREAM, 1, BROKEN_TRAILERS);

let server: ChildProcess;
let address: URL;
let end: Promise<string>;

beforeEach(async () => {
  requireBuild('service');
  const program = join(import.meta.dirname, '../support/measured-server.mjs');
  server = fork(program, [JSON.stringify(LIMITS)], { execArgv: ['--expose-gc'], silent: true });
  end = once(server, 'exit').then(() => 'has ended');
  const [text] = (await once(server, 'message')) as [string];
  address = new URL(`http://${text}`);
});

afterEach(async () => {
  if (server.connected) server.disconnect();
  await end;
});

async function openConnection(): Promise<Socket> {
  const socket = socketTo(address.host).on('error', () => undefined);
  let received = NO_BYTES;
  socket.on('data', (chunk: Buffer) => (received = Buffer.concat([received, chunk])));
  socket.write(OPENING);
  // The answer to the PING comes after what was sent before it has been read.
  while (!frameTypes(received).includes(PING)) await once(socket, 'data');
  return socket;
}

/** Makes the server collect garbage in the turn in which it reads what was just sent to it. */
async function collect(): Promise<string> {
  server.send('measure');
  return Promise.race([once(server, 'message').then(() => 'goes on'), end]);
}

describe('a client that ends its connection while a stream has broken headers', () => {
  it.each([
    ['with an unsolicited PING ACK', frame(PING, ACK, 0, Buffer.alloc(8))],
    ['with GOAWAY', frame(GOAWAY, 0, 0, Buffer.alloc(8))],
    ['with SETTINGS on a stream', frame(SETTINGS, 0, 1, Buffer.alloc(6))],
  ])('%s does not abort the process', async (_, ending) => {
    for (let times = 0; times < 10; times++) {
      const socket = await openConnection();
      socket.write(Buffer.concat([BREAKING, ending]));
      expect(await collect()).toBe('goes on');
      socket.destroy();
    }
  });
});
