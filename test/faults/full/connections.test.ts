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
const LIMIT_MIB = 1_024;
/** How many connections a service accepts by default. */
const MAX_CONNECTIONS = readConfig({}).limits.maxConnections;
/** How many connections of each kind are measured: enough for an average. */
const MEASURED_CONNECTIONS = 400;
/** How many of them are opened at a time. */
const AT_A_TIME = 100;
/** How long memory may take to settle, in milliseconds. */
const SETTLED_MS = 1_000;

/** The largest frame that a server accepts by default, in bytes. */
const FRAME_BYTES = 16_384;
/** The most frames of a header block that nghttp2 accepts. */
const BLOCK_FRAMES = 9;
/** The size of a field's value, in bytes. */
const VALUE_BYTES = 1_150;
/** `VALUE_BYTES` behind the bit for Huffman code: 127 in a prefix of 7 bits, and 1023 in two bytes (RFC 7541, section 5.1). */
const VALUE_LENGTH = Buffer.from([0xff, 0xff, 0x07]);
/** As many fields with such values as fit a frame. */
const FIELDS_PER_FRAME = 14;

const GREETING = Buffer.concat([PREFACE, frame(SETTINGS, 0, 0, Buffer.alloc(0))]);
const ACKNOWLEDGED = frame(SETTINGS, ACK, 0, Buffer.alloc(0));
/**
 * A header block without its end that takes the most memory: nghttp2 doubles the size of Huffman-coded strings, and the
 * shortest code gives the most characters for its bytes.
 */
const ENDLESS_BLOCK = Buffer.concat(
  Array.from({ length: BLOCK_FRAMES }, (_, index) =>
    frame(index === 0 ? HEADERS : CONTINUATION, 0, 1, huffmanFields()),
  ),
);
/** The head of an HTTP/1.1 request without its end, nearly as large as Node allows. */
const ENDLESS_HEAD = `GET / HTTP/1.1\r\nhost: x\r\nx: ${'v'.repeat(16_000)}`;

/** Header fields (RFC 7541, section 6.2.3) whose values are `0` characters, each five zero bits in Huffman code. */
function huffmanFields(): Buffer {
  const name = Buffer.from([0x10, 1, 'x'.charCodeAt(0)]);
  const value = Buffer.concat([VALUE_LENGTH, Buffer.alloc(VALUE_BYTES)]);
  const fields = Buffer.concat(Array<Buffer>(FIELDS_PER_FRAME).fill(Buffer.concat([name, value])));
  if (fields.length > FRAME_BYTES) throw new Error('The fields do not fit a frame.');
  return fields;
}

async function start(secure: boolean): Promise<ServiceProcess> {
  return startProcess({ DATABASE_URL: 'sqlite::memory:', ...(secure && (await tlsSettings())) });
}

/** Opens a connection to a service. It is destroyed when the test ends. */
async function connectTo(
  { grpc, http }: ServiceProcess,
  protocol: 'grpc' | 'http',
  secure: boolean,
): Promise<Socket> {
  // gRPC's address is `host:port`, and REST's is a URL.
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

/** Opens this many connections, and lets memory settle. Returns how many of them are still open. */
async function openAndSettle(count: number, open: () => Promise<Socket>): Promise<number> {
  const sockets: Socket[] = [];
  for (let opened = 0; opened < count; opened += AT_A_TIME)
    sockets.push(...(await Promise.all(Array.from({ length: AT_A_TIME }, open))));
  await sleep(SETTLED_MS);
  return sockets.filter(({ readyState }) => readyState === 'open').length;
}

/** What clients send at first, and no more. */
const KINDS = [
  { kind: 'gRPC, idle', protocol: 'grpc', firstBytes: [GREETING, ACKNOWLEDGED] },
  {
    kind: 'gRPC, endless header block',
    protocol: 'grpc',
    firstBytes: [GREETING, ACKNOWLEDGED, ENDLESS_BLOCK],
  },
  { kind: 'REST, idle', protocol: 'http', firstBytes: [] },
  { kind: 'REST, endless head', protocol: 'http', firstBytes: [ENDLESS_HEAD] },
] as const;
const TRANSPORTS = [
  { over: 'over TCP', secure: false },
  { over: 'over TLS', secure: true },
] as const;

// Measures fewer connections than the maximum, and extrapolates from their average.
it.each(KINDS.flatMap((kind) => TRANSPORTS.map((transport) => ({ ...kind, ...transport }))))(
  `the maximum number of connections fits in memory, by the average of ${MEASURED_CONNECTIONS}: $kind, $over`,
  async ({ kind, over, protocol, secure, firstBytes }) => {
    const service = await start(secure);
    const beforeMib = rssMib(service.pid);
    const opening = openAndSettle(MEASURED_CONNECTIONS, async () => {
      const socket = await connectTo(service, protocol, secure);
      for (const bytes of firstBytes) socket.write(bytes);
      return socket;
    });
    const { result: stillOpen, mib: peak } = await peakMib(service.pid, opening);
    expect(stillOpen).toBe(MEASURED_CONNECTIONS);

    const mibPerConnection = (peak - beforeMib) / MEASURED_CONNECTIONS;
    const mibAtMost = beforeMib + mibPerConnection * MAX_CONNECTIONS;
    figure(`a connection, ${kind}, ${over}`, {
      KiB: mibPerConnection * 1_024,
      'RSS MiB with as many as there may be': mibAtMost,
    });
    expect(mibAtMost).toBeLessThan(LIMIT_MIB);
  },
);
