import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { firstBlock } from '../../bench/load/hpack.js';
import { abortsAfterSessionError, abortsAtPing, warnAtStart } from '../../src/run/warnings.js';
import { readConfig } from '../../src/settings/config.js';
import { FrameConnection } from '../support/frame-connection.js';
import { freePort } from '../support/free-port.js';
import {
  ACK,
  DATA,
  END_HEADERS,
  END_STREAM,
  GOAWAY,
  grpcHead,
  HEADERS,
  uint32,
  PING,
  socketTo,
} from '../support/http2-frames.js';
import { Programs } from '../support/process.js';
import { SERVICE_SETTINGS } from '../support/service.js';

/** What a start with these settings logs before anything runs. */
function warningsOf(env: Record<string, string>): object[] {
  const lines: object[] = [];
  const logger = pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line) as object) });
  warnAtStart(readConfig(env), env, logger);
  return lines;
}

describe('a start on a database without TLS', () => {
  // Also reaches this machine, but is not a loopback address.
  const urlOf = (port: number): string => `mysql://me:p@0.0.0.0:${port}/routes`;

  it('warns once', async () => {
    const programs = new Programs();
    onTestFinished(() => programs.end());
    const settings = { ...SERVICE_SETTINGS, DATABASE_URL: urlOf(await freePort()) };
    const { stdout } = await programs.start('main', [], settings).ended;
    const warnings = stdout.split('\n').filter((line) => line.includes('"level":"warn"'));
    expect(warnings).toEqual([expect.stringContaining('no TLS to the database')]);
  });

  it('does not warn when ssl-mode=DISABLED was chosen', () => {
    const url = `${urlOf(3306)}?ssl-mode=DISABLED`;
    expect(warningsOf({ ...SERVICE_SETTINGS, DATABASE_URL: url })).toEqual([]);
  });
});

const ABORTABLE =
  'anybody who reaches the gRPC port can abort this process through a fault in the HTTP/2 of this Node: use 24.21, 26.10 or later';

const SOUND = { node: '24.21.0', nghttp2: '1.69.0' };

describe('a start of the gRPC server', () => {
  it.each([
    ['0.0.0.0:0', 'with the fault of PING', { ...SOUND, nghttp2: '1.68.1' }, [ABORTABLE]],
    ['0.0.0.0:0', 'with the fault after a session error', { ...SOUND, node: '26.9.0' }, [ABORTABLE]],
    ['0.0.0.0:0', 'without faults', SOUND, []],
    ['127.0.0.1:0', 'with both faults', { node: '26.9.0', nghttp2: '1.68.1' }, []],
  ])('on %s %s warns if other machines can abort the process', (address, _, versions, expected) => {
    vi.spyOn(process, 'versions', 'get').mockReturnValue({ ...process.versions, ...versions });
    onTestFinished(() => void vi.restoreAllMocks());
    const env = { ...SERVICE_SETTINGS, DATABASE_URL: 'sqlite::memory:', GRPC_ADDRESS: address };
    expect(warningsOf(env)).toMatchObject(expected.map((msg) => ({ msg })));
  });
});

it('a start names the variables that look like settings, without their values', () => {
  const env = { DATABASE_URL: 'sqlite::memory:', MAX_STREAMING_CALLS: '10', LOG_LEVL: 'hush' };
  const lines = warningsOf(env);
  expect(lines).toMatchObject([
    {
      level: 40,
      settings: ['MAX_STREAMING_CALLS', 'LOG_LEVL'],
      msg: 'variables that look like settings have no effect',
    },
  ]);
  expect(JSON.stringify(lines)).not.toContain('hush');
});

it('a start with traces names the variables of OpenTelemetry that have no effect', () => {
  const traced = {
    DATABASE_URL: 'sqlite::memory:',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://localhost:1/v1/traces',
  };
  const unsupported = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_PROPAGATORS: 'tracecontext,b3' };
  const supported = { OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf', OTEL_TRACES_EXPORTER: 'OTLP' };
  const env = { ...traced, ...unsupported, ...supported };
  expect(warningsOf(env)).toMatchObject([{ level: 40, variables: Object.keys(unsupported) }]);
  expect(warningsOf({ ...env, OTEL_TRACES_EXPORTER: 'none' })).toEqual([]);
});

type SentFrame = Parameters<FrameConnection['send']>;

const INTERNAL_ERROR = 2;
const REQUEST_HEAD: SentFrame = [
  HEADERS,
  END_HEADERS,
  1,
  firstBlock(grpcHead('/grpc.health.v1.Health/Check')),
];
const REQUEST_BODY: SentFrame = [DATA, END_STREAM, 1, Buffer.alloc(5)];
const PING_ACK: SentFrame = [PING, ACK, 0, Buffer.alloc(8)];
const SHORT_PING: SentFrame = [PING, 0, 0, Buffer.alloc(7)];

function goaway(code: number): SentFrame {
  return [GOAWAY, 0, 0, Buffer.concat([uint32(0), uint32(code)])];
}

/** Sends frames to the service; returns whether they aborted it. */
async function isAbortedBy(frames: readonly SentFrame[]): Promise<boolean> {
  const programs = new Programs();
  onTestFinished(() => programs.end());
  const program = programs.start('main', [], { ...SERVICE_SETTINGS, DATABASE_URL: 'sqlite::memory:' });
  const { grpc } = await program.line('listening');
  // An abort may reset the connection.
  const socket = socketTo(String(grpc)).on('error', () => undefined);
  const connection = new FrameConnection(socket, {}, () => undefined);
  for (const frame of frames) connection.send(...frame);
  await new Promise((resolve) => socket.once('close', resolve));
  const { exitCode } = await program.stop();
  return exitCode === null;
}

describe('the running Node', () => {
  it('aborts on a PING of the wrong length exactly where that is expected', async () => {
    expect(await isAbortedBy([goaway(0), REQUEST_HEAD, SHORT_PING])).toBe(abortsAtPing());
  });

  it.each([
    ['a GOAWAY with an error', goaway(INTERNAL_ERROR)],
    ['a PING with ACK that answers none', PING_ACK],
  ])('aborts on a request after %s exactly where that is expected', async (_, frame) => {
    expect(await isAbortedBy([frame, REQUEST_HEAD, REQUEST_BODY])).toBe(abortsAfterSessionError());
  });
});

it('the versions that abort on a PING of the wrong length are those before nghttp2 1.69', () => {
  const versions = ['1.61.0', '1.68.1', '1.69.0', '2.0.0'];
  expect(versions.map((nghttp2) => abortsAtPing({ nghttp2 }))).toEqual([true, true, false, false]);
});

it('the versions that abort on a request after a session error are a few of Node', () => {
  const versions = ['20.20.2', '22.23.2', '22.23.3', '24.21.0', '26.8.2', '26.9.0', '26.10.0'];
  const aborting = versions.filter((node) => abortsAfterSessionError({ node }));
  expect(aborting).toEqual(['22.23.3', '26.8.2', '26.9.0']);
});
