import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, Server } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { listenOrExplain } from '../../src/lifecycle/start.js';
import { watchHealth } from '../support/health-client.js';
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

it('git gives every script the line ends that a shell needs, also on Windows', () => {
  const scripts = ['scripts/check.sh', 'scripts/dev.sh', '.ci/run'];
  const { stdout } = spawnSync('git', ['check-attr', 'eol', '--', ...scripts], { encoding: 'utf8' });
  expect(stdout).toBe(scripts.map((script) => `${script}: eol: lf\n`).join(''));
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
    const shown = [grpcAddress, httpUrl, ...opsUrls].map((address) => address.replace('http://', ''));
    expect(shown.map((address) => address.slice(0, address.lastIndexOf(':')))).toEqual([host, host, host]);
    const [grpc = '', rest = '', ops = ''] = shown.map((address) => address.replace(host, '127.0.0.1'));
    expect((await fetch(`http://${rest}/healthz`)).status).toBe(200);
    expect((await fetch(`http://${ops}/livez`)).status).toBe(200);
    const statuses = watchHealth(grpc);
    await expect.poll(() => statuses).toEqual(['SERVING']);
  });
});
