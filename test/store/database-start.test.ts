import { performance } from 'node:perf_hooks';
import type { Knex } from 'knex';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { countOrWarn, reachOrExplain } from '../../src/store/database-start.js';
import { parseDatabaseUrl } from '../../src/settings/database-url.js';
import { openForMigrations } from '../../src/store/database.js';
import { countDuplicates } from '../../src/store/duplicates.js';
import { engines } from '../support/engines.js';
import { freePort } from '../support/free-port.js';
import { describeOn } from '../support/needs.js';
import { openEmpty, openStore } from '../support/open-store.js';
import { entryOf } from '../support/store-entries.js';
import { startTcpProxy } from '../support/tcp-proxy.js';

const WAITING = 'waiting up to 20 s for the database';

describeOn(engines.slice(1))('the wait for $name', (engine) => {
  it('ends when the database responds, and logs both its start and its end', async () => {
    const { port, connect, close } = await openEmpty(engine);
    onTestFinished(close);
    const proxy = await startTcpProxy(port);
    onTestFinished(() => proxy.close());
    await proxy.close();
    const lines: string[] = [];
    const reached = reachOrExplain(connect(proxy.port), {
      waitMs: 20_000,
      log: (line) => lines.push(line),
    });
    await expect.poll(() => lines).toEqual([WAITING]);
    await proxy.reopen();
    await reached;
    expect(lines).toEqual([WAITING, 'the database answers']);
  });

  it('does not start for a database that refuses the login', async () => {
    const { location, close } = await openEmpty(engine);
    const knex = openForMigrations({ ...location, password: 'wrong' } as typeof location);
    onTestFinished(async () => {
      await knex.destroy();
      await close();
    });
    const lines: string[] = [];
    await expect(
      reachOrExplain(knex, { waitMs: 20_000, log: (line) => lines.push(line) }),
    ).rejects.toMatchObject({ cause: { code: 'ER_ACCESS_DENIED_ERROR' } });
    expect(lines).toEqual([]);
  });
});

describe('the wait for an unreachable database', () => {
  /** Waits, and resolves with the error and the logged lines. */
  async function waitFor(
    options: Omit<Parameters<typeof reachOrExplain>[1], 'log'>,
    onLine: () => unknown = () => undefined,
  ): Promise<{ lines: string[]; error: unknown }> {
    const knex = openForMigrations(parseDatabaseUrl(`mysql://u:p@127.0.0.1:${await freePort()}/d`));
    onTestFinished(() => knex.destroy());
    const lines: string[] = [];
    const log = (line: string): void => {
      lines.push(line);
      onLine();
    };
    const error = await reachOrExplain(knex, { ...options, log }).catch((reason: unknown) => reason);
    return { lines, error };
  }

  it('doubles its pause after each attempt, up to two seconds, and ends at its time limit with the error', async () => {
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    onTestFinished(() => void vi.restoreAllMocks());
    const events: unknown[] = [];
    const pause = (ms: number): Promise<void> => {
      events.push(ms);
      now += ms;
      return Promise.resolve();
    };
    const { lines, error } = await waitFor({ waitMs: 6_500, pause }, () => events.push('line'));
    expect(error).toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    expect(lines).toEqual(['waiting up to 6.5 s for the database']);
    expect(events).toEqual(['line', 200, 400, 800, 1_600, 2_000, 1_500]);
  });

  it('does not start with a time limit of 0', async () => {
    const { lines, error } = await waitFor({ waitMs: 0 });
    expect(error).toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    expect(lines).toEqual([]);
  });

  it('ends when it is stopped', async () => {
    const stop = new AbortController();
    const { error } = await waitFor({ waitMs: 600_000, stop: stop.signal }, () => {
      stop.abort();
    });
    expect(error).toMatchObject({ name: 'AbortError' });
  });
});

it.each([
  ['refuses the login', { errno: 1045, sqlState: '28000', code: 'ER_ACCESS_DENIED_ERROR' }],
  ['refuses the login', { errno: 1049, sqlState: '42000', code: 'ER_BAD_DB_ERROR' }],
  ['cannot be reached', { errno: -111, code: 'ECONNREFUSED', syscall: 'connect' }],
  ['cannot be reached', { name: 'KnexTimeoutError' }],
  ['cannot be used', { errno: 1129, sqlState: 'HY000', code: 'ER_HOST_IS_BLOCKED' }],
  ['cannot be used', { code: 'HANDSHAKE_SSL_ERROR' }],
  ['cannot be used', { code: 'SQLITE_FULL', message: 'select * from `routes` - the cause' }],
  ['cannot be used', { code: 'ER_X', message: 'select 1 - the cause', sqlMessage: 'the cause' }],
])('a start says that the database %s: %j', async (words, error) => {
  const thrown = Object.assign(new Error('the cause'), error);
  const knex = { raw: () => Promise.reject(thrown) } as unknown as Knex;
  await expect(reachOrExplain(knex, { waitMs: 0, log: () => undefined })).rejects.toThrow(
    new Error(`The database named by DATABASE_URL ${words}: the cause`, { cause: thrown }),
  );
});

/** What a start logs, where duplicates are refused. */
async function loggedAtStart(knex: Knex): Promise<unknown[]> {
  const lines: unknown[] = [];
  await countOrWarn(knex, {
    info: (entry, message) => lines.push([entry, message]),
    warn: (message) => lines.push(message),
  });
  return lines;
}

describeOn(engines.slice(0, 1))('a start that refuses duplicates, on $name,', (engine) => {
  it('counts the routes that were stored while they were allowed', async () => {
    const { knex, store, strict, close } = await openStore(engine);
    const entry = entryOf({ path: '/start/:id' });
    await store.insert(entry);
    await expect(loggedAtStart(knex)).resolves.toEqual([
      [{}, 'counting the routes that were stored while duplicates were allowed'],
      [{ routes: 1 }, 'routes count as duplicates from now on'],
    ]);
    await expect(loggedAtStart(knex)).resolves.toEqual([]);
    await expect(strict.findDuplicate(entry.shape)).resolves.toBe(entry.route.id);
    await close();
  });
});

describeOn(engines.slice(1))('a start that refuses duplicates, on $name,', (engine) => {
  it('warns of routes that do not count, with the command, until they do', async () => {
    const { knex, store, close } = await openStore(engine);
    await store.insert(entryOf());
    await expect(loggedAtStart(knex)).resolves.toEqual([
      expect.stringMatching(/run: node dist\/migrate\.js --count-duplicates$/),
    ]);
    await countDuplicates(knex);
    await expect(loggedAtStart(knex)).resolves.toEqual([]);
    await close();
  });
});
