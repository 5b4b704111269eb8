import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { credentials, ServerCredentials } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isOnThisMachine } from '../src/channel.js';
import { createRouteClient, type RouteClientOptions } from '../src/index.js';
import { certificates } from './support/certificates.js';
import { startFaultServer, STORED } from './support/fault-server.js';
import { clientFor, failureOf } from './support/test-client.js';

const { ca, server, client } = certificates;
const pair = { cert_chain: server.cert, private_key: server.key };

/** Long enough to connect. */
const BRIEF = { timeoutMs: 500 };

function byName(address: string): string {
  return address.replace('127.0.0.1', 'localhost');
}

describe('a TLS server', () => {
  it.each<{ how: string; tls: RouteClientOptions['tls'] }>([
    { how: 'the CA that signed its certificate', tls: { ca: ca.cert } },
    { how: 'grpc-js credentials', tls: credentials.createSsl(ca.cert) },
  ])('is called with $how', async ({ tls }) => {
    const { address } = await startFaultServer(() => STORED, {
      credentials: ServerCredentials.createSsl(null, [pair]),
    });
    await expect(clientFor(byName(address), { tls }).getRoute('x')).resolves.toMatchObject({
      handler: 'getUser',
    });
  });

  it('is called by its IP address', async () => {
    const { address } = await startFaultServer(() => STORED, {
      credentials: ServerCredentials.createSsl(null, [pair]),
    });
    await expect(clientFor(address, { tls: { ca: ca.cert } }).getRoute('x')).resolves.toMatchObject({
      handler: 'getUser',
    });
  });

  it('receives no token by an address that its certificate lacks', async () => {
    const { address, received } = await startFaultServer(() => STORED, {
      credentials: ServerCredentials.createSsl(null, [pair]),
    });
    const target = address.replace('127.0.0.1', '0.0.0.0');
    const failure = await failureOf(clientFor(target, { tls: { ca: ca.cert } }).getRoute('x', BRIEF));
    expect(failure.message).toContain("IP: 0.0.0.0 is not in the cert's list");
    expect(received).toEqual([]);
  });

  it.each<{ how: string; tls: RouteClientOptions['tls'] }>([
    { how: "Node's CAs, none of which signed it", tls: true },
    { how: 'a CA that did not sign its certificate', tls: { ca: client.cert } },
    { how: 'plaintext', tls: false },
  ])('receives no token from a client that uses $how', async ({ tls }) => {
    const { address, received } = await startFaultServer(() => STORED, {
      credentials: ServerCredentials.createSsl(null, [pair]),
    });
    const failure = await failureOf(clientFor(byName(address), { tls }).getRoute('x', BRIEF));
    expect(failure.message).toContain('waiting for a connection: ');
    expect(received).toEqual([]);
  });
});

it('a certificate without its key is refused at once', () => {
  const tls = { cert: client.cert };
  expect(() => createRouteClient('127.0.0.1:1', { token: 'x', tls })).toThrow(/key/);
});

describe('the error message', () => {
  it('says what to do if the server does not speak TLS, which then receives no token', async () => {
    const { address, received } = await startFaultServer(() => STORED);
    const client = clientFor(byName(address), { tls: true, waitForReady: false });
    expect((await failureOf(client.getRoute('x'))).message).toBe(
      'There is no connection: TLS failed, wrong version number. The client speaks TLS and the server does not: where the network itself is safe, set the option tls to false.',
    );
    expect(received).toEqual([]);
  });

  it('says what to do if the server speaks only TLS', async () => {
    const { address } = await startFaultServer(() => STORED, {
      credentials: ServerCredentials.createSsl(null, [pair]),
    });
    const { message } = await failureOf(clientFor(byName(address), { tls: false }).getRoute('x', BRIEF));
    expect(message).toBe(
      'Deadline exceeded after 500 ms, waiting for a connection: the server ended it without an answer, as one with TLS does to a client without: see the option tls.',
    );
  });

  it('says what is wrong if the server speaks no HTTP/2', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { message } = await failureOf(clientFor(address).getRoute('x', BRIEF));
    expect(message).toMatch(
      / waiting for a connection: the server does not speak HTTP\/2, as gRPC needs it\.$/,
    );
  });

  it.each([
    ['http://localhost:50051', "'localhost:50051', with the option tls: false."],
    ['https://routes.example/v1', "'routes.example', with the option tls: true."],
    ['HTTPS://routes.example:8443', "'routes.example:8443', with the option tls: true."],
  ])('says at once which target to use instead of the URL %s', (target, wanted) => {
    expect(() => createRouteClient(target, { token: 'x' })).toThrow(
      `The target is a URL; gRPC takes an address: ${wanted}`,
    );
  });
});

describe('the default of the tls option', () => {
  it('sends no token in plaintext to a target that is not known to be on this machine', async () => {
    const { address, received } = await startFaultServer(() => STORED);
    // 0.0.0.0 also reaches this machine, but is not known to do so.
    const target = address.replace('127.0.0.1', '0.0.0.0');
    const channelOptions = { 'grpc.ssl_target_name_override': 'localhost' };
    const client = clientFor(target, { channelOptions });
    expect((await failureOf(client.getRoute('x', BRIEF))).message).toContain('The client speaks TLS');
    expect(received).toEqual([]);
    await clientFor(target, { tls: false }).getRoute('x');
    expect(received).toHaveLength(1);
  });

  it.each([
    'localhost:50051',
    'localhost',
    'dns:localhost:50051',
    'dns:///localhost:50051',
    '127.0.0.1:50051',
    '127.8.8.8:50051',
    '[::1]:50051',
    'ipv4:127.0.0.1:50051,127.0.0.1:50052',
    'ipv6:[::1]:50051',
    'unix:/run/routes.sock',
    'unix:///run/routes.sock',
    'unix-abstract:routes',
  ])('is plaintext for a target on this machine: %s', (target) => {
    expect(isOnThisMachine(target)).toBe(true);
  });

  it.each([
    { target: 'routes:50051', why: 'it is another host' },
    { target: 'dns:///routes.example:50051', why: 'it is another host' },
    { target: 'ipv4:127.0.0.1:50051,10.0.0.2:50051', why: 'one of its addresses is elsewhere' },
    { target: 'localhost.example:50051', why: 'it only starts with localhost' },
    { target: '127.0.0.1.example:50051', why: 'it only starts with 127.0.0.1' },
    { target: 'dns://10.0.0.1/localhost:50051', why: 'the DNS server may return any address' },
    { target: '::1:50051', why: '50051 is part of the IPv6 address' },
    { target: 'xds:///localhost:50051', why: 'the xDS server may return any address' },
  ])('is TLS for $target: $why', ({ target }) => {
    expect(isOnThisMachine(target)).toBe(false);
  });
});
