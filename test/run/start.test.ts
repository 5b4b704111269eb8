import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { warnAtStart } from '../../src/run/start.js';
import { readConfig } from '../../src/settings/config.js';
import { freePort } from '../support/free-port.js';
import { errorPacket } from '../support/mysql-packets.js';
import { type Ended, Programs } from '../support/process.js';
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
    expect(stderr).toMatch(/cannot be reached: go\\u\{a\}\\u\{1b\}\[2Jaway\\u\{202e\}\n$/);
  },
);

describe('a start on a database without TLS', () => {
  async function warnings(query: string): Promise<string[]> {
    // Also reaches this machine, but is not a loopback address.
    const url = `mysql://me:p@0.0.0.0:${await freePort()}/routes${query}`;
    const { stdout } = await endOf('main', { DATABASE_URL: url });
    return stdout.split('\n').filter((line) => line.includes('"level":"warn"'));
  }

  it('warns once', async () => {
    expect(await warnings('')).toEqual([expect.stringContaining('no TLS to the database')]);
  });

  it('does not warn when ssl-mode=DISABLED was chosen', async () => {
    expect(await warnings('?ssl-mode=DISABLED')).toEqual([]);
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
    const lines: string[] = [];
    const logger = pino({ base: null, messageKey: 'msg' }, { write: (line) => void lines.push(line) });
    warnAtStart(readConfig(env), env, logger);
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(expected);
  });
});
