import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { createServer, getCiphers } from 'node:tls';
import { status } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Pair } from '../support/certificates.js';
import { MountedFiles } from '../support/mounted-files.js';
import { runningService } from '../support/running-service.js';
import { get, metadataOf, type Service, tokenFor } from '../support/service.js';
import { negotiateAnew, secureGet, shakeHands } from '../support/tls-client.js';
import {
  byName,
  authority,
  elliptic,
  elsewhere,
  expired,
  first,
  ofOtherAuthority,
  second,
  secureClient,
  otherAuthority,
} from '../support/tls-set.js';

/** Checks the TLS files more often than the default. */
const dependencies = { fileCheckMs: 20 };

const TOKEN = tokenFor();
const NO_ROUTE = '01a1f941-715b-7593-b057-19259d7b5bfc';

/** A service with TLS over both protocols, and the files of its certificate. */
async function startSecured(
  settings: Readonly<Record<string, string>> = {},
  files = new MountedFiles({ ...first }),
): Promise<{ service: Service; files: MountedFiles }> {
  const service = await runningService({
    settings: { TLS_CERT_FILE: files.path('cert'), TLS_KEY_FILE: files.path('key'), ...settings },
    dependencies,
  });
  return { service, files };
}

function serialNumberOf({ cert }: Pair): string {
  return new X509Certificate(cert).serialNumber;
}

/** The gRPC status of a get for a route that does not exist. */
async function codeOf(client: Service['client']): Promise<status | undefined> {
  return (await get(client, NO_ROUTE, metadataOf(TOKEN))).error?.code;
}

function getOverRest(url: string, ca = authority.cert): ReturnType<typeof secureGet> {
  return secureGet(`${url}/v1/routing/${NO_ROUTE}`, { ca, headers: { authorization: `Bearer ${TOKEN}` } });
}

it('with TLS, both protocols answer clients that trust its authority', async () => {
  const { service } = await startSecured();
  expect(service.httpUrl).toMatch(/^https:/);
  expect(await getOverRest(service.httpUrl)).toMatchObject({ status: 404 });
  expect(await codeOf(secureClient(service.grpcAddress))).toBe(status.NOT_FOUND);
});

describe.each([
  ['REST', 'httpUrl', 'http/1.1', 'h2'],
  ['gRPC', 'grpcAddress', 'h2', 'http/1.1'],
] as const)('with TLS, %s', (_, target, protocol, other) => {
  const options = { ca: authority.cert, ALPNProtocols: [protocol] };

  it('accepts TLS 1.2 and 1.3, and no earlier version, and refuses to renegotiate', async () => {
    const { service } = await startSecured();
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const pinned = { ...options, minVersion: version, maxVersion: version };
      const socket = await shakeHands(service[target], pinned);
      expect([socket.getProtocol(), socket.alpnProtocol]).toEqual([version, protocol]);
    }
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    await expect(shakeHands(service[target], { ...options, ...old })).rejects.toMatchObject({
      code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
    });
    await negotiateAnew(await shakeHands(service[target], { ...options, maxVersion: 'TLSv1.2' }));
  });

  it.each([
    ['RSA', 'rsa', first],
    ['ECDSA', 'ecdsa', elliptic],
  ] as const)('of TLS 1.2, takes ECDHE with AEAD alone for an %s certificate', async (_name, kind, pair) => {
    const { service } = await startSecured({}, new MountedFiles({ ...pair }));
    const taken = await Promise.all(
      getCiphers().map(async (cipher) => {
        const pinned = { maxVersion: 'TLSv1.2', ciphers: `${cipher.toUpperCase()}:@SECLEVEL=0` } as const;
        return shakeHands(service[target], { ...options, ...pinned }).then(
          () => [cipher],
          () => [],
        );
      }),
    );
    const ciphers = ['aes128-gcm-sha256', 'aes256-gcm-sha384', 'chacha20-poly1305'];
    expect(taken.flat().sort()).toEqual(ciphers.map((cipher) => `ecdhe-${kind}-${cipher}`));
  });

  it('refuses a client that speaks only another protocol, or no TLS, and logs nothing', async () => {
    const { service } = await startSecured();
    await expect(shakeHands(service[target], { ...options, ALPNProtocols: [other] })).rejects.toMatchObject({
      code: 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL',
    });
    const { hostname, port } = new URL(service[target].replace(/^(?!https)/, 'https://'));
    const lines = service.log.length;
    const socket = connect(Number(port), hostname).on('error', () => undefined);
    socket.resume().write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(socket, 'close');
    expect(service.log.slice(lines)).toEqual([]);
  });
});

describe('a renewed certificate', () => {
  it('is shown to each new connection, and no call fails meanwhile', async () => {
    const { service, files } = await startSecured();
    const [shown, codes]: [Set<string>, Set<number | undefined>] = [new Set(), new Set()];
    let loading = true;
    let answers = 0;
    const rest = async (): Promise<void> => {
      while (loading) {
        const { status: code, serialNumber } = await getOverRest(service.httpUrl);
        shown.add(serialNumber);
        codes.add(code);
        answers++;
      }
    };
    const grpc = async (): Promise<void> => {
      while (loading) {
        const client = secureClient(service.grpcAddress);
        codes.add(await codeOf(client));
        client.close();
      }
    };
    const load = Promise.all([rest(), rest(), grpc(), grpc()]);
    await expect.poll(() => [...shown]).toEqual([serialNumberOf(first)]);
    files.swap({ cert: second.cert, key: first.key });
    const line = 'the new TLS files cannot be used: the previous ones stay in use';
    await expect.poll(() => service.log.map(({ msg }) => msg)).toContain(line);
    const asked = answers;
    // More than were under way.
    await expect.poll(() => answers).toBeGreaterThan(asked + 4);
    expect([...shown]).toEqual([serialNumberOf(first)]);
    files.swap({ ...second });
    await expect.poll(() => [...shown]).toEqual([first, second].map(serialNumberOf));
    loading = false;
    await load;
    expect(codes).toEqual(new Set([404, status.NOT_FOUND]));
    const latest = await shakeHands(service.grpcAddress, { ca: authority.cert, ALPNProtocols: ['h2'] });
    expect(latest.getPeerCertificate().serialNumber).toBe(serialNumberOf(second));
  });

  it('is not read by a service that has stopped', async () => {
    const { service: stopped, files } = await startSecured();
    const { service } = await startSecured({}, files);
    await stopped.close();
    const lines = stopped.log.length;
    for (const pair of [second, first]) {
      const renewed = service.log.filter(({ msg }) => msg === 'TLS files renewed').length;
      files.swap({ ...pair });
      await expect
        .poll(() => service.log.filter(({ msg }) => msg === 'TLS files renewed').length)
        .toBe(renewed + 1);
    }
    expect(stopped.log.slice(lines)).toEqual([]);
  });
});

describe('with authorities for client certificates', () => {
  async function startClosed(): Promise<{ service: Service; files: MountedFiles }> {
    const files = new MountedFiles({ ca: authority.cert });
    const { service } = await startSecured({ TLS_CLIENT_CA_FILE: files.path('ca') });
    return { service, files };
  }

  it('gRPC refuses clients without a certificate, with one from another authority, or with an expired one', async () => {
    const { service } = await startClosed();
    expect(await codeOf(secureClient(service.grpcAddress))).toBe(status.UNAVAILABLE);
    const wrong = secureClient(service.grpcAddress, authority.cert, ofOtherAuthority);
    expect(await codeOf(wrong)).toBe(status.UNAVAILABLE);
    const late = secureClient(service.grpcAddress, authority.cert, expired);
    expect(await codeOf(late)).toBe(status.UNAVAILABLE);
  });

  it('gRPC accepts clients with a certificate from them, but still requires a token', async () => {
    const { service } = await startClosed();
    const client = secureClient(service.grpcAddress, authority.cert, second);
    expect(await codeOf(client)).toBe(status.NOT_FOUND);
    const { error } = await get(client, NO_ROUTE, metadataOf(undefined));
    expect(error?.code).toBe(status.UNAUTHENTICATED);
  });

  it.each([
    ['gRPC', 'a', 'grpcAddress', 'h2', expect.arrayContaining(['ECDSA+SHA256'])],
    ['REST', 'no', 'httpUrl', 'http/1.1', []],
  ] as const)('%s requests %s certificate', async (_, _some, target, protocol, algorithms) => {
    const { service } = await startClosed();
    const options = { ca: authority.cert, ALPNProtocols: [protocol], ...second };
    const socket = await shakeHands(service[target], options);
    // A client learns the signature algorithms only from a CertificateRequest (RFC 8446, section 4.3.2).
    expect(socket.getSharedSigalgs()).toEqual(algorithms);
  });

  it('new authorities replace the previous ones', async () => {
    const { service, files } = await startClosed();
    files.swap({ ca: otherAuthority.cert });
    await expect.poll(() => service.log.map(({ msg }) => msg)).toContain('TLS files renewed');
    const before = secureClient(service.grpcAddress, authority.cert, second);
    expect(await codeOf(before)).toBe(status.UNAVAILABLE);
    const since = secureClient(service.grpcAddress, authority.cert, ofOtherAuthority);
    expect(await codeOf(since)).toBe(status.NOT_FOUND);
  });
});

describe('a separate gateway', () => {
  function startGateway(target: string, settings: Readonly<Record<string, string>>): Promise<Service> {
    const upstream = { GRPC_UPSTREAM: target, GRPC_UPSTREAM_TLS: 'on' };
    return runningService({
      settings: { ...upstream, ...settings },
      dependencies,
    });
  }

  /** The HTTP status of a get for a route that does not exist. */
  async function statusOf({ httpUrl }: Service): Promise<number> {
    const headers = { authorization: `Bearer ${TOKEN}` };
    return (await fetch(`${httpUrl}/v1/routing/${NO_ROUTE}`, { headers })).status;
  }

  it.each(['localhost', '127.0.0.1'])(
    'calls a server at %s with a certificate from a trusted authority',
    async (host) => {
      const { service } = await startSecured();
      const files = new MountedFiles({ ca: authority.cert });
      const settings = { GRPC_UPSTREAM_CA_FILE: files.path('ca') };
      const target = service.grpcAddress.replace('127.0.0.1', host);
      expect(await statusOf(await startGateway(target, settings))).toBe(404);
    },
  );

  it('does not call a server whose certificate is for another host', async () => {
    const { service } = await startSecured({}, new MountedFiles({ ...elsewhere }));
    const files = new MountedFiles({ ca: authority.cert });
    const app = await startGateway(service.grpcAddress, { GRPC_UPSTREAM_CA_FILE: files.path('ca') });
    expect(await statusOf(app)).toBe(503);
  });

  it('agrees with no server on a cipher without AEAD', async () => {
    const options = { ...first, ALPNProtocols: ['h2'], maxVersion: 'TLSv1.2' } as const;
    const server = createServer({ ...options, ciphers: 'ECDHE-RSA-AES256-SHA384' }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    const refused = once(server, 'tlsClientError');
    await once(server, 'listening');
    const files = new MountedFiles({ ca: authority.cert });
    const target = `localhost:${(server.address() as AddressInfo).port}`;
    const app = await startGateway(target, { GRPC_UPSTREAM_CA_FILE: files.path('ca') });
    expect(await statusOf(app)).toBe(503);
    expect(await refused).toMatchObject([{ code: 'ERR_SSL_NO_SHARED_CIPHER' }, expect.anything()]);
  });

  it('trusts no private authority by default', async () => {
    const { service } = await startSecured();
    expect(await statusOf(await startGateway(byName(service.grpcAddress), {}))).toBe(503);
  });

  it('presents its certificate to a server that requests one, and a renewed one afterwards', async () => {
    const clients = new MountedFiles({ ca: otherAuthority.cert });
    const { service } = await startSecured({ TLS_CLIENT_CA_FILE: clients.path('ca') });
    const own = new MountedFiles({ ...first, ca: authority.cert });
    const app = await startGateway(byName(service.grpcAddress), {
      GRPC_UPSTREAM_CA_FILE: own.path('ca'),
      GRPC_UPSTREAM_CERT_FILE: own.path('cert'),
      GRPC_UPSTREAM_KEY_FILE: own.path('key'),
    });
    expect(await statusOf(app)).toBe(503);
    own.swap({ ...ofOtherAuthority, ca: authority.cert });
    await expect.poll(() => statusOf(app)).toBe(404);
  });
});
