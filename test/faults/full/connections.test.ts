import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { rssMib } from '../../../bench/process-usage.js';
import { readConfig } from '../../../src/settings/config.js';
import { ACK, CONTINUATION, frame, HEADERS, PREFACE, SETTINGS } from '../../support/http2-frames.js';
import { figure } from '../rig/figures.js';
import { peakMib } from '../rig/load-process.js';
import { type ServiceProcess, startProcess, tlsSettings } from '../rig/service-process.js';

/** The memory limit of the service in compose, Kubernetes and systemd, in MiB. */
const MEMORY_MIB = 1_024;
const MOST = readConfig({}).limits.maxConnections;
/** The number of measured connections of each kind. */
const MEASURED = 400;
/** The largest frame that a server accepts by default, and the most frames of a header block that nghttp2 accepts. */
const FRAME_BYTES = 16_384;
const BLOCK_FRAMES = 9;
/** The number of connections opened at a time. */
const AT_A_TIME = 100;
/** How long memory may take to settle, in milliseconds. */
const SETTLED_MS = 1_000;

const GREETING = Buffer.concat([PREFACE, frame(SETTINGS, 0, 0, Buffer.alloc(0))]);
const ACKNOWLEDGED = frame(SETTINGS, ACK, 0, Buffer.alloc(0));
/** An unfinished header block that takes the most memory: nghttp2 doubles the size of Huffman-coded strings. */
const ENDLESS = Buffer.concat(
  Array.from({ length: BLOCK_FRAMES }, (_, index) =>
    frame(index === 0 ? HEADERS : CONTINUATION, 0, 1, huffmanFields()),
  ),
);
const UNFINISHED_HEAD = `GET / HTTP/1.1\r\nhost: x\r\nx: ${'v'.repeat(16_000)}`;

/** Header fields (RFC 7541, section 6.2.3) whose values are `0` characters, each five zero bits in Huffman code. */
function huffmanFields(): Buffer {
  const name = Buffer.from([0x10, 1, 'x'.charCodeAt(0)]);
  // The length has a 7-bit prefix and two more bytes (RFC 7541, section 5.1).
  const value = Buffer.concat([Buffer.from([0xff, 0xff, 0x07]), Buffer.alloc(127 + 0x3ff)]);
  const fields = Buffer.concat(Array<Buffer>(14).fill(Buffer.concat([name, value])));
  if (fields.length > FRAME_BYTES) throw new Error('The fields do not fit a frame.');
  return fields;
}

async function start(secure: boolean): Promise<ServiceProcess> {
  return startProcess({ DATABASE_URL: 'sqlite::memory:', ...(secure && (await tlsSettings())) });
}

async function opened(
  { grpc, http }: ServiceProcess,
  protocol: 'grpc' | 'http',
  secure: boolean,
): Promise<Socket> {
  const { hostname: host, port } = new URL(protocol === 'grpc' ? `http://${grpc}` : http);
  const to = { host, port: Number(port) };
  const socket = secure
    ? connectTls({
        ...to,
        rejectUnauthorized: false,
        ALPNProtocols: [protocol === 'grpc' ? 'h2' : 'http/1.1'],
      })
    : connectTcp(to);
  onTestFinished(() => {
    socket.destroy();
  });
  socket.on('error', () => undefined).resume();
  await once(socket, secure ? 'secureConnect' : 'connect');
  return socket;
}

/**
 * The memory of the service before and at most while connections open, in MiB, and the number of connections open in
 * the end.
 */
async function memoryOf(
  { pid }: ServiceProcess,
  count: number,
  open: () => Promise<Socket>,
): Promise<{ before: number; most: number; live: number }> {
  const before = rssMib(pid);
  const opening = async (): Promise<number> => {
    const sockets: Socket[] = [];
    for (let made = 0; made < count; made += AT_A_TIME)
      sockets.push(...(await Promise.all(Array.from({ length: AT_A_TIME }, open))));
    await sleep(SETTLED_MS);
    return sockets.filter(({ readyState }) => readyState === 'open').length;
  };
  const { result: live, mib } = await peakMib(pid, opening());
  return { before, most: mib, live };
}

it.each([
  ['gRPC, idle', 'grpc', false, [GREETING, ACKNOWLEDGED]],
  ['gRPC, with a header block that never ends', 'grpc', false, [GREETING, ACKNOWLEDGED, ENDLESS]],
  ['gRPC over TLS, idle', 'grpc', true, [GREETING, ACKNOWLEDGED]],
  ['gRPC over TLS, with a header block that never ends', 'grpc', true, [GREETING, ACKNOWLEDGED, ENDLESS]],
  ['REST, idle', 'http', false, []],
  ['REST, with a head that never ends', 'http', false, [UNFINISHED_HEAD]],
  ['REST over TLS, idle', 'http', true, []],
  ['REST over TLS, with a head that never ends', 'http', true, [UNFINISHED_HEAD]],
] as const)('the maximum number of connections fits in memory: %s', async (kind, protocol, secure, texts) => {
  const service = await start(secure);
  const { before, most, live } = await memoryOf(service, MEASURED, async () => {
    const socket = await opened(service, protocol, secure);
    for (const text of texts) socket.write(text);
    return socket;
  });
  expect(live).toBe(MEASURED);
  const perConnection = (most - before) / MEASURED;
  const all = before + perConnection * MOST;
  figure(`a connection, ${kind}`, {
    KiB: perConnection * 1_024,
    'RSS MiB with as many as there may be': all,
  });
  expect(all).toBeLessThan(MEMORY_MIB);
});
