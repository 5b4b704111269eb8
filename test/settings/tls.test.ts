import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readConfig, readMigration } from '../../src/settings/config.js';

const folder = mkdtempSync(join(tmpdir(), 'route-registry-'));
const CA = join(folder, 'ca');
writeFileSync(CA, 'PEM');

afterAll(() => {
  rmSync(folder, { recursive: true });
});

const PAIR = { TLS_CERT_FILE: 'c', TLS_KEY_FILE: 'k' };
const GATEWAY = { ROLE: 'gateway', GRPC_UPSTREAM: 'a:1' };
const UPSTREAM_PAIR = { GRPC_UPSTREAM_CERT_FILE: 'c', GRPC_UPSTREAM_KEY_FILE: 'k' };
const URL = 'mysql://u:p@h/d';

describe('the TLS settings', () => {
  it.each<[string, Record<string, string>, object]>([
    ['are unset by default', GATEWAY, { tls: undefined, http: { upstreamTls: undefined } }],
    [
      'of the upstream channel name files',
      { ...GATEWAY, GRPC_UPSTREAM_TLS: 'on', GRPC_UPSTREAM_CA_FILE: 'a', ...UPSTREAM_PAIR },
      { http: { upstreamTls: { certFile: 'c', keyFile: 'k', caFile: 'a' } } },
    ],
  ])('%s', (_, env, expected) => {
    expect(readConfig(env)).toMatchObject(expected);
  });

  it.each<[string, Record<string, string>, string]>([
    [
      'a certificate without a key',
      { TLS_CERT_FILE: 'c' },
      'TLS_KEY_FILE must be set with TLS_CERT_FILE; got none.',
    ],
    [
      'a key without a certificate',
      { TLS_KEY_FILE: 'k' },
      'TLS_CERT_FILE must be set with TLS_KEY_FILE; got none.',
    ],
    [
      'client CAs without a certificate',
      { TLS_CLIENT_CA_FILE: 'a' },
      'TLS_CLIENT_CA_FILE must be set with TLS_CERT_FILE and TLS_KEY_FILE; got no certificate.',
    ],
    [
      'client CAs for a gateway',
      { ...GATEWAY, ...PAIR, TLS_CLIENT_CA_FILE: 'a' },
      'TLS_CLIENT_CA_FILE must not be set with ROLE=gateway, which runs no gRPC server; got a file.',
    ],
    [
      'TLS for an upstream channel without a server',
      { GRPC_UPSTREAM_TLS: 'on' },
      'GRPC_UPSTREAM_TLS must be set with GRPC_UPSTREAM, the gRPC server to call; got none.',
    ],
    [
      'a certificate without a key for the upstream channel',
      { ...GATEWAY, GRPC_UPSTREAM_TLS: 'on', GRPC_UPSTREAM_CERT_FILE: 'c' },
      'GRPC_UPSTREAM_KEY_FILE must be set with GRPC_UPSTREAM_CERT_FILE; got none.',
    ],
    [
      'a certificate and a key for an upstream channel without TLS',
      { ...GATEWAY, ...UPSTREAM_PAIR },
      'GRPC_UPSTREAM_CERT_FILE must be set with GRPC_UPSTREAM_TLS=on; got off.',
    ],
    [
      'CAs for an upstream channel without TLS',
      { ...GATEWAY, GRPC_UPSTREAM_CA_FILE: 'a' },
      'GRPC_UPSTREAM_CA_FILE must be set with GRPC_UPSTREAM_TLS=on; got off.',
    ],
  ])('cannot be %s', (_, env, problem) => {
    expect(() => readConfig(env)).toThrow(`The settings cannot be used:\n- ${problem}`);
  });
});

describe('TLS in DATABASE_URL', () => {
  it.each<[string, object | undefined]>([
    ['', undefined],
    ['?ssl-mode=DISABLED', undefined],
    [`?ssl-mode=VERIFY_CA&ssl-ca=${CA}`, { ca: 'PEM', checksHost: false, cert: undefined, key: undefined }],
    [
      `?ssl-mode=VERIFY_IDENTITY&ssl-ca=${CA}&ssl-cert=${CA}&ssl-key=${CA}`,
      { ca: 'PEM', checksHost: true, cert: 'PEM', key: 'PEM' },
    ],
    ['?ssl-mode=VERIFY_IDENTITY', { ca: undefined, checksHost: true, cert: undefined, key: undefined }],
  ])('is read from "%s"', (query, tls) => {
    expect(readMigration({ DATABASE_URL: URL + query }).database).toMatchObject({
      host: 'h',
      database: 'd',
      tls,
    });
  });

  it.each<[string, string]>([
    ['?ssl=true', 'must have no parameters but ssl-mode, ssl-ca, ssl-cert, ssl-key, socket; got "ssl".'],
    [
      '?SSL-MODE=DISABLED',
      'must have no parameters but ssl-mode, ssl-ca, ssl-cert, ssl-key, socket; got "SSL-MODE".',
    ],
    ['?ssl-mode=REQUIRED', 'must have VERIFY_IDENTITY, VERIFY_CA or DISABLED as ssl-mode; got another one.'],
    ['?ssl-mode=PREFERRED', 'must have VERIFY_IDENTITY, VERIFY_CA or DISABLED as ssl-mode; got another one.'],
    ['?ssl-mode=', 'must have a value for ssl-mode; got none.'],
    [
      `?ssl-ca=${CA}`,
      'must have ssl-mode=VERIFY_IDENTITY or VERIFY_CA where it names files for TLS; got none.',
    ],
    [
      '?ssl-mode=VERIFY_CA',
      'must have ssl-ca where it has ssl-mode=VERIFY_CA, since any server has a certificate of some public authority; got none.',
    ],
    [
      '?ssl-mode=VERIFY_CA&ssl-ca=/nowhere',
      'must name a readable file in ssl-ca; got one that cannot be read.',
    ],
    ['?ssl-mode=VERIFY_CA&ssl-mode=DISABLED', 'must have the parameter ssl-mode once; got 2.'],
    [
      `?ssl-mode=VERIFY_CA&ssl-ca=${CA}&ssl-key=${CA}`,
      'must have both ssl-cert and ssl-key, or neither; got one.',
    ],
  ])('is refused for "%s"', (query, problem) => {
    expect(() => readMigration({ DATABASE_URL: URL + query })).toThrow(`\n- DATABASE_URL ${problem}`);
  });
});
