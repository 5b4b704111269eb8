import type { TlsOptions } from 'node:tls';
import type { Knex } from 'knex';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parseDatabaseUrl } from '../../src/settings/database.js';
import { openDatabase, reachDatabase } from '../../src/store/database.js';
import { translate } from '../../src/store/driver-errors.js';
import type { Pair } from '../support/certificates.js';
import { type Database, engines } from '../support/engines.js';
import { MountedFiles } from '../support/mounted-files.js';
import { type MysqlTlsFront, startMysqlTlsFront } from '../support/mysql-tls-front.js';
import { describeOn } from '../support/needs.js';
import { authority, elsewhere, expired, first, ofOtherAuthority, second } from '../support/tls-set.js';

const namesOnly = authority.issue({ addresses: [] });
const addressesOnly = authority.issue({ names: [] });

describeOn(engines.slice(1))('TLS to $name', (engine) => {
  let database: Database;

  beforeAll(async () => {
    database = await engine.createDatabase();
  });

  afterAll(() => database.drop());

  /** Opens the database behind a front with TLS. */
  async function opened(
    parameters: Readonly<Record<string, string>>,
    tls: TlsOptions | undefined,
    host = 'localhost',
  ): Promise<{ knex: Knex; front: MysqlTlsFront }> {
    const url = new URL(database.url);
    const front = await startMysqlTlsFront(Number(url.port), tls);
    const files = new MountedFiles({ ca: authority.cert, ...second });
    Object.assign(url, { hostname: host, port: String(front.port) });
    for (const [name, value] of Object.entries(parameters))
      url.searchParams.set(name, name === 'ssl-mode' ? value : files.path(value));
    const knex = openDatabase(parseDatabaseUrl(url.href));
    onTestFinished(() => knex.destroy());
    return { knex, front };
  }

  const IDENTITY = { 'ssl-mode': 'VERIFY_IDENTITY', 'ssl-ca': 'ca' };
  const AUTHORITY = { 'ssl-mode': 'VERIFY_CA', 'ssl-ca': 'ca' };

  it.each<[string, typeof IDENTITY, Pair, string]>([
    ['VERIFY_IDENTITY, by name', IDENTITY, first, 'localhost'],
    ['VERIFY_IDENTITY, by address', IDENTITY, addressesOnly, '127.0.0.1'],
    ['VERIFY_CA, whatever the host', AUTHORITY, elsewhere, 'localhost'],
    ['VERIFY_CA, whatever the address', AUTHORITY, elsewhere, '127.0.0.1'],
  ])('accepts a valid certificate: %s', async (_, parameters, pair, host) => {
    const { knex, front } = await opened(parameters, { ...pair }, host);
    await reachDatabase(knex, { waitMs: 0, log: () => undefined });
    expect(front.logins()).toBe(1);
  });

  it.each<[string, typeof IDENTITY, Pair, string]>([
    ['of another authority', IDENTITY, ofOtherAuthority, 'localhost'],
    ['of another authority, with VERIFY_CA', AUTHORITY, ofOtherAuthority, 'localhost'],
    ['for another host', IDENTITY, elsewhere, 'localhost'],
    ['for another address', IDENTITY, elsewhere, '127.0.0.1'],
    ['for the name localhost, where the host is an address', IDENTITY, namesOnly, '127.0.0.1'],
    ['that has expired', IDENTITY, expired, 'localhost'],
  ])('sends no login to a server with a certificate %s', async (_, parameters, pair, host) => {
    const { knex, front } = await opened(parameters, { ...pair }, host);
    const lines: string[] = [];
    const reached = reachDatabase(knex, { waitMs: 5_000, log: (line) => lines.push(line) });
    await expect(reached).rejects.toMatchObject({ code: 'HANDSHAKE_SSL_ERROR' });
    expect([front.logins(), lines]).toEqual([0, []]);
  });

  it('sends no login to a server without TLS', async () => {
    const { knex, front } = await opened(IDENTITY, undefined);
    await expect(knex.raw('select 1')).rejects.toMatchObject({ code: 'HANDSHAKE_NO_SSL_SUPPORT' });
    expect(front.logins()).toBe(0);
  });

  it('presents a client certificate to a server that requests one', async () => {
    const asking = { ...first, ca: authority.cert, requestCert: true };
    const without = await opened(IDENTITY, asking);
    await expect(without.knex.raw('select 1')).rejects.toThrow();
    expect(without.front.logins()).toBe(0);
    const files = { ...IDENTITY, 'ssl-cert': 'cert', 'ssl-key': 'key' };
    const { knex } = await opened(files, asking);
    await knex.raw('select 1');
  });
});

describe('a database server that cannot be trusted', () => {
  it.each(['HANDSHAKE_SSL_ERROR', 'HANDSHAKE_NO_SSL_SUPPORT'])('makes the store unavailable: %s', (code) => {
    expect(translate(Object.assign(new Error(), { code }))).toMatchObject({ reason: 'STORE_UNAVAILABLE' });
  });
});
