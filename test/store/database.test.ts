import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TlsOptions } from 'node:tls';
import { pathToFileURL } from 'node:url';
import type { Knex } from 'knex';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { parseDatabaseUrl } from '../../src/settings/database-url.js';
import { addressOf, openForCalls, openForMigrations } from '../../src/store/database.js';
import { requireWritable } from '../../src/store/engines/sqlite-file.js';
import { buildFolder } from '../support/build-folder.js';
import type { Pair } from '../support/certificates.js';
import { type Database, engines } from '../support/engines.js';
import { MountedFiles } from '../support/mounted-files.js';
import { type MysqlTlsFront, startMysqlTlsFront } from '../support/mysql-tls-front.js';
import { describeOn } from '../support/needs.js';
import { CALL_TIMES, openEmpty } from '../support/open-store.js';
import { createProxiedDatabase, startTcpProxy } from '../support/tcp-proxy.js';
import { authority, elsewhere, expired, first, ofOtherAuthority, second } from '../support/tls-set.js';

/** How a pool of Knex gives connections. */
interface ConnectionClient {
  acquireConnection(): Promise<{ readonly stream: Socket }>;
  releaseConnection(connection: object): Promise<void>;
}

describeOn(engines.slice(1))('a connection to $name', (engine) => {
  // An uncaught error would fail the run.
  it('that the network loses while it ends is dropped, and the process goes on', async () => {
    const { location, port, close } = await openEmpty(engine);
    onTestFinished(close);
    const proxy = await startTcpProxy(port);
    onTestFinished(() => proxy.close());
    const knex = openForCalls({ ...location, port: proxy.port } as typeof location, {
      ...CALL_TIMES,
      // Connecting must be quicker, on a busy machine, too.
      silenceMs: 1_000,
    });
    const client = knex.client as ConnectionClient;
    const connection = await client.acquireConnection();
    await client.releaseConnection(connection);
    proxy.stall();
    const closed = new Promise((resolve) => connection.stream.once('close', resolve));
    await knex.destroy();
    await closed;
    expect(connection.stream.errored).toMatchObject({ code: 'ETIMEDOUT' });
  });
});

/** Root can write everything, so the code switches to the user nobody. */
const BECOME_NOBODY = process.getuid?.() === 0 ? 'process.setgroups([]); process.setuid(65_534);' : '';

/** Loaded before the code becomes the user nobody, who may not be able to read this folder. */
const MODULE = pathToFileURL(join(buildFolder(), 'store/engines/sqlite-file.js')).href;

/** The error that an unprivileged user gets for the file; empty for none. */
function toldOf(path: string, cwd = '/'): string {
  const code = `import(${JSON.stringify(MODULE)}).then((it) => { ${BECOME_NOBODY} it.requireWritable(${JSON.stringify(path)}); }).catch((e) => console.log(e.message))`;
  const { error, stdout, stderr } = spawnSync(process.execPath, ['-e', code], { cwd, encoding: 'utf8' });
  expect(error).toBeUndefined();
  expect(stderr).toBe('');
  return stdout;
}

function write(path: string, mode: number): void {
  mkdirSync(dirname(path), { recursive: true });
  chmodSync(dirname(path), 0o777);
  writeFileSync(path, '');
  chmodSync(path, mode);
}

describe('an embedded database', () => {
  let folder: string;
  let file: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'writable-'));
    chmodSync(folder, 0o755);
    file = join(folder, 'data/routes.db');
  });

  afterEach(() => {
    // Without write permission, not even the owner could remove the folder.
    spawnSync('chmod', ['-R', 'u+w', folder]);
    rmSync(folder, { recursive: true });
  });

  it('is accepted if its file can be written or its folder can be created', () => {
    chmodSync(folder, 0o777);
    expect(toldOf(file)).toBe('');
    write(file, 0o666);
    expect(toldOf(file)).toBe('');
  });

  it('gets a new folder and files that only its owner can access', async () => {
    const knex = openForMigrations({ engine: 'sqlite', file });
    onTestFinished(() => knex.destroy());
    await knex.schema.createTable('notes', (table) => table.increments());
    const modes = [dirname(file), file, `${file}-wal`, `${file}-shm`].map(
      (path) => statSync(path).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o600, 0o600, 0o600]);
  });

  it('keeps the mode of a file that exists', () => {
    write(file, 0o664);
    requireWritable(file);
    expect(statSync(file).mode & 0o777).toBe(0o664);
  });

  it.each([
    ['its file', ['routes.db'], 'data/routes.db', 0o444],
    ['its log', ['routes.db', 'routes.db-wal'], 'data/routes.db-wal', 0o444],
    ['its folder', ['routes.db'], 'data', 0o555],
    ['the parent of its folder', [], '.', 0o555],
  ])('is refused when this user may not write %s', (_, files, unwritable, mode) => {
    for (const name of files) write(join(dirname(file), name), 0o666);
    chmodSync(join(folder, unwritable), mode);
    expect(toldOf(file)).toMatch(
      /^The embedded database \S+routes\.db cannot be written: EACCES.*\. Let this user write the file and its folder, or name another file in DATABASE_URL\.\n$/,
    );
  });

  it('is refused with its full path when this user may not read its folder', () => {
    mkdirSync(dirname(file));
    chmodSync(dirname(file), 0);
    expect(toldOf('data/routes.db', folder)).toBe(
      `The embedded database ${file} cannot be written: EACCES: permission denied, stat '${file}'. Let this user write the file and its folder, or name another file in DATABASE_URL.\n`,
    );
    chmodSync(dirname(file), 0o700);
  });

  it('is refused when its path is a folder or leads through a file', () => {
    mkdirSync(file, { recursive: true });
    expect(() => {
      requireWritable(file);
    }).toThrow(`${file} is a folder`);
    write(join(folder, 'a-file'), 0o644);
    expect(() => {
      requireWritable(join(folder, 'a-file/routes.db'));
    }).toThrow(/cannot be written: E(EXIST|NOTDIR)/);
  });
});

describeOn(engines.slice(1))('a unix socket of $name', (engine) => {
  it('is what DATABASE_URL names with socket, whatever its port', async () => {
    const { url } = await createProxiedDatabase(engine, 'a unix socket');
    const over = openForMigrations(parseDatabaseUrl(url));
    onTestFinished(() => over.destroy());
    await over.raw('select 1');
    expect(addressOf(over)).toBe(new URL(url).searchParams.get('socket'));
  });
});

const namesOnly = authority.issue({ addresses: [] });
const addressesOnly = authority.issue({ names: [] });

describeOn(engines.slice(1))('TLS to $name', (engine) => {
  let database: Database;

  beforeAll(async () => {
    database = await engine.createDatabase();
  });

  afterAll(() => database.drop());

  /** Opens the database behind a front with TLS. */
  async function openThroughTls(
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
    const knex = openForMigrations(parseDatabaseUrl(url.href));
    onTestFinished(() => knex.destroy());
    return { knex, front };
  }

  const IDENTITY = { 'ssl-mode': 'VERIFY_IDENTITY', 'ssl-ca': 'ca' };
  const PUBLIC = { 'ssl-mode': 'VERIFY_IDENTITY' };
  const AUTHORITY = { 'ssl-mode': 'VERIFY_CA', 'ssl-ca': 'ca' };

  it.each<[string, typeof IDENTITY, Pair, string]>([
    ['VERIFY_IDENTITY, by name', IDENTITY, first, 'localhost'],
    ['VERIFY_IDENTITY, by address', IDENTITY, addressesOnly, '127.0.0.1'],
    ['VERIFY_CA, whatever the host', AUTHORITY, elsewhere, 'localhost'],
    ['VERIFY_CA, whatever the address', AUTHORITY, elsewhere, '127.0.0.1'],
  ])('accepts a valid certificate: %s', async (_, parameters, pair, host) => {
    const { knex, front } = await openThroughTls(parameters, { ...pair }, host);
    await knex.raw('select 1');
    expect(front.logins()).toBe(1);
  });

  it.each<[string, Readonly<Record<string, string>>, Pair, string]>([
    ['of another authority', IDENTITY, ofOtherAuthority, 'localhost'],
    ['of another authority, with VERIFY_CA', AUTHORITY, ofOtherAuthority, 'localhost'],
    ['for another host', IDENTITY, elsewhere, 'localhost'],
    ['for another address', IDENTITY, elsewhere, '127.0.0.1'],
    ['for the name localhost, where the host is an address', IDENTITY, namesOnly, '127.0.0.1'],
    ['that has expired', IDENTITY, expired, 'localhost'],
    ['of an authority that Node does not trust, without ssl-ca', PUBLIC, first, 'localhost'],
  ])('sends no login to a server with a certificate %s', async (_, parameters, pair, host) => {
    const { knex, front } = await openThroughTls(parameters, { ...pair }, host);
    await expect(knex.raw('select 1')).rejects.toMatchObject({ code: 'HANDSHAKE_SSL_ERROR' });
    expect(front.logins()).toBe(0);
  });

  it('sends no login to a server without TLS', async () => {
    const { knex, front } = await openThroughTls(IDENTITY, undefined);
    await expect(knex.raw('select 1')).rejects.toMatchObject({ code: 'HANDSHAKE_NO_SSL_SUPPORT' });
    expect(front.logins()).toBe(0);
  });

  it('presents a client certificate to a server that requests one', async () => {
    const asking = { ...first, ca: authority.cert, requestCert: true };
    const without = await openThroughTls(IDENTITY, asking);
    await expect(without.knex.raw('select 1')).rejects.toThrow();
    expect(without.front.logins()).toBe(0);
    const files = { ...IDENTITY, 'ssl-cert': 'cert', 'ssl-key': 'key' };
    const { knex } = await openThroughTls(files, asking);
    await knex.raw('select 1');
  });
});
