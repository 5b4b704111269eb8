import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { pino } from 'pino';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { openAuthenticator } from '../../src/app.js';
import { Closing } from '../../src/run/closing.js';
import { parseDatabaseUrl } from '../../src/settings/database-url.js';
import { openDatabase } from '../../src/store/database.js';
import { KeySetServer } from '../auth/key-set-server.js';
import { databaseOnMysql, spawnService } from '../faults/rig/service-process.js';
import { freePort } from '../support/free-port.js';
import { createMysqlDatabase, dropMysqlDatabase } from '../support/mysql-databases.js';
import { needs } from '../support/needs.js';
import { type Service, SERVICE_SETTINGS, startService, tokenFor } from '../support/service.js';
import { proxyDatabase } from '../support/tcp-proxy.js';

const ROOT = resolve(import.meta.dirname, '../..');
const DOCUMENT = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
/** For a service that needs no database server. */
const IN_MEMORY = { DATABASE_URL: 'sqlite::memory:' };
const MINUTE_MS = 60_000;

/** A line of the log. */
type Line = Readonly<Record<string, unknown>>;

/** The names of the levels, which a logger in this process writes as numbers. */
const LEVELS: Readonly<Record<number, string>> = { 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' };

/** Starts the service in this process, until the test ends. */
async function start(
  settings: Readonly<Record<string, string>>,
  databaseUrl = IN_MEMORY.DATABASE_URL,
): Promise<Service> {
  const service = await startService({ databaseUrl, settings });
  onTestFinished(() => service.close());
  return service;
}

/** Starts the service on a database behind a proxy. */
async function onProxiedDatabase() {
  const { proxy, url } = await proxyDatabase(await databaseOnMysql());
  return { proxy, ...(await start({}, url)) };
}

function get(http: string, token = tokenFor()): Promise<Response> {
  const url = `${http}/v1/routing/01a1f941-715b-7593-b057-19259d7b5bfc`;
  return fetch(url, { headers: { authorization: `Bearer ${token}` } });
}

/** Starts a service that fails to start, and returns its stderr. */
async function failedStart(settings: Readonly<Record<string, string>>): Promise<string> {
  const program = await spawnService({ ...IN_MEMORY, ...settings });
  const { exitCode, stderr } = await program.ended;
  expect(exitCode).toBe(1);
  return stderr;
}

/** Creates an empty database, which is dropped when the test ends. */
async function emptyDatabase(): Promise<string> {
  const [server] = inject('mysqlServers');
  if (server === undefined) throw new Error('There is no server: the test must say that it needs one.');
  const url = await createMysqlDatabase(server);
  onTestFinished(() => dropMysqlDatabase(url));
  return url;
}

/** Waits for a line with this message in the log of a service in this process. */
async function lineIn(log: readonly Line[], message: string): Promise<Line> {
  const find = (): Line | undefined => log.find(({ msg }) => msg === message);
  await expect.poll(find, { timeout: 10_000 }).toBeDefined();
  return find() ?? {};
}

/** Each provokes its message, and returns lines of the log. */
const WAYS: Readonly<Record<string, (message: string) => Promise<readonly Line[]>>> = {
  '… does not answer: not serving': async () => {
    const { proxy, log, grpcAddress } = await onProxiedDatabase();
    const gateway = await start({ GRPC_UPSTREAM: grpcAddress });
    await lineIn(gateway.log, 'the gRPC server answers: serving');
    await proxy.close();
    return [
      await lineIn(log, 'the store does not answer: not serving'),
      await lineIn(gateway.log, 'the gRPC server does not answer: not serving'),
    ];
  },
  'The route store is unavailable. Try again.': async (message) => {
    const { proxy, log, httpUrl } = await onProxiedDatabase();
    await proxy.close();
    await get(httpUrl);
    return [await lineIn(log, message)];
  },
  'The keys that verify tokens are unavailable. Try again.': async (message) => {
    const keys = { JWT_SECRET: '', JWT_JWKS_URL: `http://127.0.0.1:${await freePort()}/keys` };
    const { log, httpUrl } = await start(keys);
    const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    await get(httpUrl, tokenFor({}, { key, algorithm: 'ES256', keyid: 'k' }));
    return [await lineIn(log, message)];
  },
  'the key set cannot be refreshed: its keys stay in use until it is an hour old': async (message) => {
    const { publicKey, privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const issuer = await KeySetServer.start({ ...publicKey.export({ format: 'jwk' }), kid: 'k' });
    onTestFinished(() => issuer.stop());
    let nowMs = Date.now();
    const log: Line[] = [];
    const write = (line: string): void => void log.push(JSON.parse(line) as Line);
    const { JWT_ISSUER, JWT_AUDIENCE } = SERVICE_SETTINGS;
    const authenticator = openAuthenticator(
      { key: { kind: 'jwks', url: issuer.url }, issuer: JWT_ISSUER, audience: JWT_AUDIENCE },
      { closing: new Closing(), logger: pino({}, { write }), now: () => nowMs },
    );
    const token = tokenFor({ exp: nowMs / 1_000 + 3_600 }, { key, algorithm: 'ES256', keyid: 'k' });
    await expect(authenticator.authenticate(`Bearer ${token}`)).resolves.toMatchObject({ ok: true });
    await issuer.stop();
    nowMs += 6 * MINUTE_MS;
    expect(authenticator.authenticate(`Bearer ${token}`)).toMatchObject({ ok: true });
    return [await lineIn(log, message)];
  },
  'variables that look like settings have no effect': async (message) => {
    const program = await spawnService({ ...IN_MEMORY, MAX_STREAMING_CALLS: '10', LOG_LEVL: 'x' });
    const line = await program.line(message);
    expect(line).toMatchObject({ settings: ['MAX_STREAMING_CALLS', 'LOG_LEVL'] });
    await program.line('listening');
    return [line];
  },
  'request failed': async (message) => {
    const upstream = `127.0.0.1:${await freePort()}`;
    const { log, httpUrl } = await start({ GRPC_UPSTREAM: upstream });
    await get(httpUrl);
    return [await lineIn(log, message)];
  },
  'An internal error occurred.': async (message) => {
    const url = await databaseOnMysql();
    const { log, httpUrl } = await start({}, url);
    const knex = openDatabase(parseDatabaseUrl(url));
    await knex.schema.renameTable('routes', 'elsewhere');
    await knex.destroy();
    await get(httpUrl);
    return [await lineIn(log, message)];
  },
};

/** Every message of a failed start, with a function that returns what such a start prints. */
const FAILED_STARTS: Readonly<Record<string, () => Promise<string>>> = {
  'The settings cannot be used:': () => failedStart({ ROLE: 'x' }),
  'The service cannot start: The database schema is out of date. Update it with: node dist/migrate.js (from sources: npm run migrate)':
    async () => failedStart({ DATABASE_URL: await emptyDatabase() }),
  'The service cannot start: The database named by DATABASE_URL cannot be reached: …': async () =>
    failedStart({ DATABASE_URL: `mysql://me:password@127.0.0.1:${await freePort()}/routes` }),
  'The service cannot start: The database named by DATABASE_URL refuses the login: …': async () => {
    const url = new URL(await emptyDatabase());
    url.password = 'wrong';
    return failedStart({ DATABASE_URL: url.href });
  },
  'The service cannot start: The database named by DATABASE_URL cannot be used: …': async () => {
    const file = join(await mkdtemp(join(inject('temporaryFolder'), 'not-a-database-')), 'file');
    await writeFile(file, 'x'.repeat(4_096));
    return failedStart({ DATABASE_URL: `sqlite:${file}` });
  },
  'The service cannot start: The embedded database … cannot be written: …': () =>
    failedStart({ DATABASE_URL: 'sqlite:/dev/null/routes.db' }),
  'The service cannot start: Cannot listen on …': async () => {
    const other = createServer();
    await once(other.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void other.close());
    const { port } = other.address() as { port: number };
    return failedStart({ HTTP_ADDRESS: `127.0.0.1:${port}` });
  },
  'The service cannot start: The files of TLS_CERT_FILE, TLS_KEY_FILE or TLS_CLIENT_CA_FILE cannot be used: …':
    () => failedStart({ TLS_CERT_FILE: '/dev/null/certificate', TLS_KEY_FILE: '/dev/null/key' }),
};

/** The first two cells of each table row under a heading: the message and the cell beside it. */
function rowsUnder(heading: string): (readonly [message: string, beside: string])[] {
  const [, text = ''] = new RegExp(`\n#+ ${heading}\n([^]*?)\n#`).exec(`${DOCUMENT}\n#`) ?? [];
  return [...text.matchAll(/^\| `([^`]+)`(?: and a list)? \| ([^|]*) \|/gm)].map(
    ([, message = '', beside = '']) => [message, beside],
  );
}

/** A pattern for a message in which `…` stands for variable text. */
function patternOf(message: string): RegExp {
  const escaped = message.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replaceAll('…', '.+')}`);
}

const LEVELS_OF = new Map(rowsUnder('Log lines'));

describe('what provokes a line logs it with the level in docs/operations.md', needs('server'), () => {
  it.each(Object.entries(WAYS))('%s', async (message, provoke) => {
    const levels = LEVELS_OF.get(message)?.split(', ');
    for (const { msg, level } of await provoke(message)) {
      expect(msg).toMatch(patternOf(message));
      expect(levels).toContain(typeof level === 'number' ? LEVELS[level] : level);
    }
  });
});

describe('a failed start prints the message in docs/operations.md', () => {
  const documented = rowsUnder('Failed starts');

  it('every documented message is provoked here', () => {
    expect(Object.keys(FAILED_STARTS)).toEqual(documented.map(([message]) => message));
  });

  it.each(documented)('%s', needs('server'), async (message) => {
    const provoke = FAILED_STARTS[message];
    if (provoke === undefined) throw new Error('Nothing here provokes this message.');
    expect(await provoke()).toMatch(patternOf(message));
  });
});
