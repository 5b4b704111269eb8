import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, stat, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { parseDatabaseUrl } from '../../../src/settings/database-url.js';
import { secretsIn } from '../../../src/settings/token-values.js';
import { openForMigrations } from '../../../src/store/database.js';
import { KnexRouteStore } from '../../../src/store/knex-route-store.js';
import { migrateUp } from '../../../src/store/migrations.js';
import { createAuthority } from '../../support/certificates.js';
import { engines } from '../../support/engines.js';
import { itOn, needs, supplies } from '../../support/needs.js';
import { startService, tokenFor } from '../../support/service.js';
import { entryOf } from '../../support/store-entries.js';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../../..');
const DOCUMENT = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');

/** The commands of a tested block in docs/operations.md. */
function commands(name: string): string {
  const block = new RegExp(`<!-- tested: ${name} -->\\s*\`\`\`sh\n([^]*?)\`\`\``).exec(DOCUMENT)?.[1];
  if (block === undefined) throw new Error(`docs/operations.md has no commands ${name}.`);
  return block;
}

/** Runs commands in a folder, as in a terminal, and returns their output. */
async function shell(block: string, cwd: string): Promise<string> {
  const folders = Object.values(supplies.programs).map((program) => dirname(program));
  const PATH = [...folders, process.env['PATH']].join(delimiter);
  const env = { ...process.env, PATH };
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', block], { cwd, env });
  return stdout;
}

function emptyFolder(): Promise<string> {
  return mkdtemp(join(inject('temporaryFolder'), 'backup-'));
}

/** How the blocks begin that no test here runs: they need port 3306, Docker, a cluster, or a dedicated machine. */
const ELSEWHERE = [
  '[ -e routes.env ]',
  '. ./routes.env',
  'docker build -t route-registry',
  'docker compose --profile gateway up',
  'kubectl create namespace',
  'kubectl -n routes exec deployment/route-registry',
  'kubectl -n routes apply -f deploy/kubernetes/pod-monitor.yaml',
  'npm ci && npm run build && npm prune',
  'JWT_SECRET_FILE=/etc/route-registry/jwt-secret',
  'sed -e ',
  'for i in 1 2; do',
  'docker compose exec -T mysql',
];

it('each block of commands in docs/operations.md is run here, or is listed as one that no test can run', () => {
  const blocks = [...DOCUMENT.matchAll(/(<!-- tested: [a-z-]+ -->)?\s*```sh\n\s*(.*)/g)];
  const untested = blocks.filter(([, mark]) => mark === undefined).map(([, , first = '']) => first);
  expect(untested).toHaveLength(ELSEWHERE.length);
  for (const [i, beginning] of ELSEWHERE.entries()) expect(untested[i]?.startsWith(beginning)).toBe(true);
  const source = readFileSync(import.meta.filename, 'utf8');
  for (const [, mark] of blocks.filter(([, found]) => found !== undefined))
    expect(source).toContain(`commands('${/tested: ([a-z-]+)/.exec(mark ?? '')?.[1] ?? ''}')`);
});

describe('the commands of docs/operations.md', needs('sqlite3', 'mysql', 'mysqldump'), () => {
  it('back up the embedded database while the service runs, and restore it', async () => {
    const folder = await emptyFolder();
    await mkdir(join(folder, 'data'));
    const databaseUrl = `sqlite:${join(folder, 'data/routes.db')}`;
    await writeFile(join(folder, 'data/jwt-secret'), 'the secret of the local mode');
    const headers = { authorization: `Bearer ${tokenFor()}`, 'content-type': 'application/json' };
    const before = await startService({ databaseUrl });
    const body = JSON.stringify({ method: 'GET', path: '/kept', handler: 'h' });
    const created = await fetch(`${before.httpUrl}/v1/routing`, { method: 'POST', headers, body });
    const route = (await created.json()) as { id: string };
    // More creates, so that the database changes all the time, as `.backup` could not bear.
    const backedUp = new AbortController();
    const creates = (async () => {
      let count = 0;
      for (; !backedUp.signal.aborted; count++)
        await fetch(`${before.httpUrl}/v1/routing`, { method: 'POST', headers, body });
      return count;
    })();
    const printed = await shell(commands('backup-sqlite'), folder);
    backedUp.abort();
    const count = await creates;
    await before.close();
    expect((await stat(join(folder, 'routes-backup.db'))).mode & 0o777).toBe(0o600);
    expect(count).toBeGreaterThan(0);
    await writeFile(join(folder, 'data/routes.db'), 'what is left after the disk has failed');
    await writeFile(join(folder, 'data/jwt-secret'), 'another one');
    await shell(commands('restore-sqlite'), folder);
    const after = await startService({ databaseUrl });
    onTestFinished(() => after.close());
    const found = await fetch(`${after.httpUrl}/v1/routing/${route.id}`, { headers });
    const [check, rows] = printed.split('\n');
    expect(check).toBe('ok');
    expect(Number(rows)).toBeGreaterThan(0);
    expect(Number(rows)).toBeLessThanOrEqual(1 + count);
    await expect(found.json()).resolves.toEqual(route);
    await expect(readFile(join(folder, 'data/jwt-secret'), 'utf8')).resolves.toBe(
      'the secret of the local mode',
    );
  });

  itOn(engines.slice(1))(
    'back up a database on $name as its user, and restore it into another one',
    async (engine) => {
      const folder = await emptyFolder();
      const database = await engine.createDatabase();
      const administrator = openForMigrations(parseDatabaseUrl(database.url));
      const url = new URL(database.url);
      const name = `${url.pathname.slice(1)}_b`.slice(-31);
      const names = [name, `${name}2`] as const;
      const [create = '', user = '', grant = ''] = (/```sql\n([^]*?)```/.exec(DOCUMENT)?.[1] ?? '').split(
        '\n',
      );
      const statements = [
        ...names.map((database) => create.replace('routes', database)),
        user.replace('routes', name),
        ...names.map((database) =>
          grant.replace('routes.*', `${database}.*`).replace("'routes'", `'${name}'`),
        ),
      ];
      for (const statement of statements) await administrator.raw(statement);
      onTestFinished(async () => {
        await administrator.raw(`DROP USER '${name}'@'%'`);
        for (const database of names) await administrator.raw(`DROP DATABASE ${database}`);
        await administrator.destroy();
        await database.drop();
      });
      Object.assign(url, { username: name, password: 'password', pathname: `/${name}` });
      const knex = openForMigrations(parseDatabaseUrl(url.href));
      await migrateUp(knex);
      const entry = entryOf({ middleware: ["it's 👍", 'b'] }, { idempotencyKey: 'once' });
      await new KnexRouteStore(knex, { duplicates: 'reject' }).insert(entry);
      await knex.destroy();

      const login = /```ini\n([^]*?)```/.exec(DOCUMENT)?.[1] ?? '';
      const own = login.replace('port=3306', `port=${url.port}`).replace('user=routes', `user=${name}`);
      await writeFile(join(folder, 'mysql.cnf'), own, { mode: 0o600 });
      const printed = await shell(commands('backup-mysql').replace(' routes >', ` ${name} >`), folder);
      expect(printed).toMatch(/^-- Dump completed/);
      const counted = await shell(commands('restore-mysql').replaceAll('routes_restored', names[1]), folder);
      expect(counted).toMatch(/^count\(\*\)\n1\n$/i);

      url.pathname = `/${names[1]}`;
      const restored = openForMigrations(parseDatabaseUrl(url.href));
      onTestFinished(() => restored.destroy());
      const store = new KnexRouteStore(restored, { duplicates: 'reject' });
      await expect(store.find(entry.route.id)).resolves.toEqual(entry.route);
      await expect(store.findByIdempotencyKey('me', 'once')).resolves.toEqual(entry.route);
      await expect(migrateUp(restored)).resolves.toEqual([]);
    },
  );

  it('add a secret after the signing one, in a file that only its owner can read', async () => {
    const folder = await emptyFolder();
    const file = join(folder, 'jwt-secret');
    const first = 'the first of the secrets, which is long enough';
    await writeFile(file, `${first}\n`, { mode: 0o600 });
    await shell(commands('rotate-secret'), folder);
    const secrets = secretsIn(await readFile(file));
    expect(secrets).toHaveLength(2);
    expect(secrets[0]).toBe(first);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('show the certificate that clients see', async () => {
    const folder = await emptyFolder();
    const { cert, key } = createAuthority().issue();
    await writeFile(join(folder, 'tls.crt'), cert);
    await writeFile(join(folder, 'tls.key'), key);
    const files = { TLS_CERT_FILE: join(folder, 'tls.crt'), TLS_KEY_FILE: join(folder, 'tls.key') };
    const service = await startService({ databaseUrl: 'sqlite::memory:', settings: files });
    onTestFinished(() => service.close());
    const { port } = new URL(service.httpUrl);
    const printed = await shell(commands('shown-certificate').replace(':8080', `:${port}`), folder);
    expect(printed).toMatch(/^subject=CN ?= ?Route Registry\nnotAfter=.* GMT\n$/);
  });
});
