import { createServer } from 'node:http';
import { credentials, ServerCredentials } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { isOnThisMachine } from '../src/channel.js';
import { createRouteClient, type RouteClientOptions } from '../src/index.js';
import { certificates } from './support/certificates.js';
import { startFaultServer, STORED } from './support/fault-server.js';
import { listen } from './support/http2-server.js';
import { clientFor, failureOf } from './support/test-client.js';

const { ca, server, client } = certificates;
const pair = { cert_chain: server.cert, private_key: server.key };

/** A server whose replies come only over TLS. */
function startTlsServer(): ReturnType<typeof startFaultServer> {
  return startFaultServer(() => STORED, { credentials: ServerCredentials.createSsl(null, [pair]) });
}

describe('a TLS server', () => {
  it.each<[how: string, at: string, tls: RouteClientOptions['tls']]>([
    ['the CA that signed its certificate', 'localhost', { ca: ca.cert }],
    ['grpc-js credentials', 'localhost', credentials.createSsl(ca.cert)],
    ['its IP address', '127.0.0.1', { ca: ca.cert }],
  ])('is called with %s', async (_, at, tls) => {
    const { address } = await startTlsServer();
    const target = address.replace('127.0.0.1', at);
    await expect(clientFor(target, { tls }).getRoute('x')).resolves.toMatchObject({ handler: 'getUser' });
  });

  it.each<[who: string, at: string, tls: RouteClientOptions['tls'], reason: string]>([
    ["uses Node's CAs, none of which signed it", 'localhost', true, 'unable to verify the first certificate'],
    ['has a CA that did not sign its certificate', 'localhost', { ca: client.cert }, 'unable to verify'],
    ['has an address that its certificate lacks', '0.0.0.0', { ca: ca.cert }, "is not in the cert's list"],
    [
      'speaks plaintext',
      'localhost',
      false,
      'the server ended it without an answer, as one with TLS does to a client without: see the option tls.',
    ],
  ])('receives no token from a client that %s, which says so', async (_, at, tls, reason) => {
    const { address, received } = await startTlsServer();
    const failure = await failureOf(
      clientFor(address.replace('127.0.0.1', at), { tls }).getRoute('x', { timeoutMs: 500 }),
    );
    expect(failure.message).toContain('Deadline exceeded after 500 ms, waiting for a connection: ');
    expect(failure.message).toContain(reason);
    expect(received).toEqual([]);
  });
});

describe('the error message', () => {
  it('says at once, without waitForReady, that the server does not speak TLS, which receives no token', async () => {
    const { address, received } = await startFaultServer(() => STORED);
    const client = clientFor(address, { tls: true, waitForReady: false });
    const failure = await failureOf(client.getRoute('x'));
    expect(failure).toMatchObject({ status: 'UNAVAILABLE', reason: undefined });
    expect(failure.message).toBe(
      'There is no connection: TLS failed, wrong version number. The client speaks TLS and the server does not: where the network itself is safe, set the option tls to false.',
    );
    expect(received).toEqual([]);
  });

  it('says what is wrong if the server speaks no HTTP/2', async () => {
    const address = await listen(createServer());
    const { message } = await failureOf(clientFor(address).getRoute('x', { timeoutMs: 500 }));
    expect(message).toMatch(
      / waiting for a connection: the server does not speak HTTP\/2, as gRPC needs it\.$/,
    );
  });

  it.each([
    ['http://localhost:50051', "'localhost:50051', with the option tls: false."],
    ['https://routes.example/v1', "'routes.example', with the option tls: true."],
    ['grpc://routes.example:50051', "'routes.example:50051', with the option tls: false."],
    ['GRPCS://routes.example', "'routes.example', with the option tls: true."],
    ['tcp://routes.example:50051', "'routes.example:50051'."],
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
    expect((await failureOf(client.getRoute('x', { timeoutMs: 500 }))).message).toContain(
      'The client speaks TLS',
    );
    expect(received).toEqual([]);
    await clientFor(target, { tls: false }).getRoute('x');
    expect(received).toHaveLength(1);
  });

  const LOCAL =
    'localhost:50051 localhost dns:localhost:50051 dns:///localhost:50051 127.0.0.1:50051 127.8.8.8:50051';
  const SOCKETS = 'unix:/run/routes.sock unix:///run/routes.sock unix-abstract:routes';

  it.each(`${LOCAL} ${SOCKETS} [::1]:50051 ipv6:[::1]:50051 ipv4:127.0.0.1:50051,127.0.0.1:50052`.split(' '))(
    'is plaintext for a target on this machine: %s',
    (target) => {
      expect(isOnThisMachine(target)).toBe(true);
    },
  );

  it.each([
    ['dns:///routes.example:50051', 'it is another host'],
    ['ipv4:127.0.0.1:50051,10.0.0.2:50051', 'one of its addresses is elsewhere'],
    ['localhost.example:50051', 'it only starts with localhost'],
    ['127.0.0.1.example:50051', 'it only starts with 127.0.0.1'],
    ['dns://10.0.0.1/localhost:50051', 'the DNS server may return any address'],
    ['::1:50051', '50051 is part of the IPv6 address'],
  ])('is TLS for %s: %s', (target) => {
    expect(isOnThisMachine(target)).toBe(false);
  });
});
