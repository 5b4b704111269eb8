import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer, Server } from 'node:net';
import { join, resolve } from 'node:path';
import { pino } from 'pino';
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import { firstBlock } from '../../bench/load/hpack.js';
import {
  abortsAfterSessionError,
  abortsAtPing,
  firstSteps,
  listenOrExplain,
  warnAtStart,
} from '../../src/run/start.js';
import { readConfig } from '../../src/settings/config.js';
import type { TokenKey } from '../../src/settings/tokens.js';
import { FrameConnection } from '../support/frame-connection.js';
import { freePort } from '../support/free-port.js';
import { watchHealth } from '../support/health-client.js';
import {
  ACK,
  DATA,
  END_HEADERS,
  END_STREAM,
  GOAWAY,
  grpcHead,
  HEADERS,
  number,
  PING,
  socketTo,
} from '../support/http2-frames.js';
import { errorPacket } from '../support/mysql-packets.js';
import { type Ended, Programs } from '../support/process.js';
import { runningService } from '../support/running-service.js';
import { SERVICE_SETTINGS } from '../support/service.js';

const ER_HOST_IS_BLOCKED = 1129;

/** Runs a program to its end. */
function endOf(name: 'main' | 'migrate', settings: Record<string, string>): Promise<Ended> {
  const programs = new Programs();
  onTestFinished(() => programs.end());
  return programs.start(name, [], { ...SERVICE_SETTINGS, ...settings }).ended;
}

it.each(['main', 'migrate'] as const)(
  '%s prints no control character from a database server',
  async (name) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined).end(errorPacket(ER_HOST_IS_BLOCKED, 'go\n\x1b[2Jaway\u202e', 0));
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { exitCode, stderr } = await endOf(name, { DATABASE_URL: `mysql://me:p@127.0.0.1:${port}/routes` });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/cannot be used: go\\u\{a\}\\u\{1b\}\[2Jaway\\u\{202e\}\n$/);
  },
);

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
    const { stdout } = await endOf('main', { DATABASE_URL: urlOf(await freePort()) });
    const warnings = stdout.split('\n').filter((line) => line.includes('"level":"warn"'));
    expect(warnings).toEqual([expect.stringContaining('no TLS to the database')]);
  });

  it('does not warn when ssl-mode=DISABLED was chosen', () => {
    const url = `${urlOf(3306)}?ssl-mode=DISABLED`;
    expect(warningsOf({ ...SERVICE_SETTINGS, DATABASE_URL: url })).toEqual([]);
  });
});

it('npm start after an install without the packages for development says so in one line', () => {
  const script = resolve(import.meta.dirname, '../../scripts/build.mjs');
  const folder = mkdtempSync(join(inject('temporaryFolder'), 'production-'));
  copyFileSync(script, join(folder, 'build.mjs'));
  const { status, stderr } = spawnSync(process.execPath, ['build.mjs'], { cwd: folder, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: 'To build the service, install what it is built with, too: npm ci --include=dev\n',
  });
});

it('git gives every script the line ends that a shell needs, also on Windows', () => {
  const scripts = ['scripts/check.sh', 'scripts/dev.sh', '.ci/run'];
  const { stdout } = spawnSync('git', ['check-attr', 'eol', '--', ...scripts], { encoding: 'utf8' });
  expect(stdout).toBe(scripts.map((script) => `${script}: eol: lf\n`).join(''));
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

const PLACES = { grpcAddress: '127.0.0.1:50051', httpUrl: 'http://127.0.0.1:8080/api', docs: true };

function tokens(key: TokenKey) {
  return {
    key,
    issuer: 'https://issuer.test',
    audiences: ['routes'],
    audienceClaim: undefined,
    scopeClaims: [],
    scopes: { read: 'routes:read', write: 'routes:write' },
  };
}

const LOCAL = tokens({ kind: 'local', file: 'data/jwt-secret' });

describe('the first steps', () => {
  it('appear in the README exactly as printed', () => {
    const readme = readFileSync(resolve(import.meta.dirname, '../../README.md'), 'utf8');
    const places = { ...PLACES, httpUrl: 'http://127.0.0.1:8080' };
    expect(readme).toContain(`\`\`\`${firstSteps(places, LOCAL, undefined).trimEnd()}\n\`\`\``);
  });

  it('name the scopes as the settings do', () => {
    const renamed = { ...LOCAL, scopes: { read: 'in', write: 'out' } };
    expect(firstSteps(PLACES, renamed, undefined)).toContain('--scope "in out" --sub me');
  });

  it('in a container make a token with docker exec', () => {
    expect(firstSteps(PLACES, LOCAL, 'c0ffee')).toContain(
      '\ntoken  export TOKEN=$(docker exec c0ffee node dist/token.js --scope ',
    );
  });

  it.each<[string, TokenKey, string]>([
    ['a secret', { kind: 'secret', secret: 's' }, 'with the same settings:  export TOKEN=$(npm run '],
    [
      'a file of secrets',
      { kind: 'secretFile', file: 'f' },
      'with the same settings:  export TOKEN=$(npm run ',
    ],
    ['a public key', { kind: 'publicKeyFile', file: 'f' }, 'from https://issuer.test\n'],
    ['a key set', { kind: 'jwks', url: 'https://issuer.test/keys' }, 'from https://issuer.test\n'],
  ])('with %s say how to get a token', (_, key, line) => {
    expect(firstSteps(PLACES, tokens(key), undefined)).toContain(`\ntoken  ${line}`);
  });

  it.each(['0.0.0.0', '[::]'])('show localhost for a service that listens on %s', (host) => {
    const places = { grpcAddress: `${host}:50051`, httpUrl: `https://${host}:8080`, docs: true };
    expect(firstSteps(places, LOCAL, undefined)).toMatch(
      /^\ngRPC {3}localhost:50051\nREST {3}https:\/\/localhost:8080\ndocs {3}https:\/\/localhost:8080\/docs\n/,
    );
  });

  it('list only the servers that run', () => {
    const gateway = { ...PLACES, grpcAddress: undefined, docs: false };
    expect(firstSteps(gateway, undefined, undefined)).toBe('\nREST   http://127.0.0.1:8080/api\n\n');
    const server = { ...PLACES, httpUrl: undefined };
    expect(firstSteps(server, LOCAL, undefined)).toMatch(/^\ngRPC .*\ntoken .*\n\n$/);
  });
});

/** Listens on this host as a server does. */
async function listenOn(host: string): Promise<void> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  server.close();
}

describe('an address to listen on', () => {
  it('that this machine does not have is refused with an explanation', async () => {
    // TEST-NET-1 of RFC 5737, which no machine has.
    await expect(
      listenOrExplain('HTTP_ADDRESS', '192.0.2.1:80', () => listenOn('192.0.2.1')),
    ).rejects.toThrow('Cannot listen on HTTP_ADDRESS=192.0.2.1:80: this machine does not have this address.');
  });

  it.each([
    [
      'that this user may not use is refused with an explanation',
      'listen EACCES: permission denied 127.0.0.1:80',
      'this user may not use it; ports below 1024 often need a privilege.',
    ],
    [
      'is refused with an explanation even if only the error message tells why',
      'No address added out of total 1 resolved errors: [listen EADDRINUSE: address already in use 127.0.0.1:80]',
      'another program uses it, perhaps another copy of this service.',
    ],
    ['is refused with the original message for any other cause', 'odd', 'odd'],
  ])('%s', async (_, message, words) => {
    const listen = (): Promise<void> => Promise.reject(new Error(message));
    await expect(listenOrExplain('GRPC_ADDRESS', '127.0.0.1:80', listen)).rejects.toThrow(
      `Cannot listen on GRPC_ADDRESS=127.0.0.1:80: ${words}`,
    );
  });
});

/** Refuses to listen on IPv6 as a kernel without it does. */
function withoutIpv6(): void {
  const listen = Object.getOwnPropertyDescriptor(Server.prototype, 'listen')?.value as Server['listen'];
  vi.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server, ...args: unknown[]) {
    if (!JSON.stringify(args).includes('"::"')) return Reflect.apply(listen, this, args) as Server;
    const error = Object.assign(new Error('listen EAFNOSUPPORT: address family not supported :::0'), {
      code: 'EAFNOSUPPORT',
    });
    setImmediate(() => this.emit('error', error));
    return this;
  });
  onTestFinished(() => void vi.restoreAllMocks());
}

describe('the addresses of [::]', () => {
  const settings = { GRPC_ADDRESS: '[::]:0', HTTP_ADDRESS: '[::]:0', OPS_ADDRESS: '[::]:0' };

  it.each<[string, string, () => void]>([
    ['[::]', 'IPv4, too', () => undefined],
    ['0.0.0.0', 'IPv4, where the kernel has no IPv6', withoutIpv6],
  ])('are %s, and serve %s', async (host, _, prepare) => {
    prepare();
    const { grpcAddress, httpUrl, opsUrls } = await runningService({ settings });
    const shown = [grpcAddress, httpUrl, ...opsUrls].map((each) => each.replace('http://', ''));
    expect(shown.map((each) => each.slice(0, each.lastIndexOf(':')))).toEqual([host, host, host]);
    const [grpc = '', rest = '', ops = ''] = shown.map((each) => each.replace(host, '127.0.0.1'));
    expect((await fetch(`http://${rest}/healthz`)).status).toBe(200);
    expect((await fetch(`http://${ops}/livez`)).status).toBe(200);
    const statuses = watchHealth(grpc);
    await expect.poll(() => statuses).toEqual(['SERVING']);
  });
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
  return [GOAWAY, 0, 0, Buffer.concat([number(0), number(code)])];
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

it.each([
  [{ nghttp2: '1.61.0' }, true],
  [{ nghttp2: '1.68.1' }, true],
  [{ nghttp2: '1.69.0' }, false],
  [{ nghttp2: '2.0.0' }, false],
])('%j aborts on a PING of the wrong length: %s', (versions, expected) => {
  expect(abortsAtPing(versions)).toBe(expected);
});

it.each([
  [{ node: '20.20.2' }, false],
  [{ node: '22.23.2' }, false],
  [{ node: '22.23.3' }, true],
  [{ node: '24.21.0' }, false],
  [{ node: '26.8.2' }, true],
  [{ node: '26.9.0' }, true],
  [{ node: '26.10.0' }, false],
])('%j aborts on a request after a session error: %s', (versions, expected) => {
  expect(abortsAfterSessionError(versions)).toBe(expected);
});
