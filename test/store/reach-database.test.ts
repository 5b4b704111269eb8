import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Knex } from 'knex';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readDatabase } from '../../src/settings/config.js';
import { openDatabase } from '../../src/store/database.js';
import { reachDatabase } from '../../src/store/reach-database.js';
import { engines } from '../support/engines.js';
import { freePort } from '../support/free-port.js';
import { describeOn } from '../support/needs.js';
import { startTcpProxy } from '../support/tcp-proxy.js';

const LONG_MS = 20_000;

describeOn(engines.slice(1))('the wait for $name', (engine) => {
  /** The database with something else in its URL, and its own port. */
  async function opened(change: {
    port?: string;
    password?: string;
  }): Promise<{ knex: Knex; target: number }> {
    const database = await engine.createDatabase();
    const url = new URL(database.url);
    const target = Number(url.port);
    Object.assign(url, change);
    const knex = openDatabase(readDatabase({ DATABASE_URL: url.href }));
    onTestFinished(async () => {
      await knex.destroy();
      await database.drop();
    });
    return { knex, target };
  }

  it('ends when the database answers, and tells of both', async () => {
    const port = await freePort();
    const { knex, target } = await opened({ port: String(port) });
    const lines: string[] = [];
    const reached = reachDatabase(knex, { waitMs: LONG_MS, log: (line) => lines.push(line) });
    await expect.poll(() => lines).toEqual(['waiting up to 20 s for the database']);
    const proxy = await startTcpProxy(target, port);
    onTestFinished(() => proxy.close());
    await reached;
    expect(lines).toEqual(['waiting up to 20 s for the database', 'the database answers']);
  });

  it('does not begin for a database that refuses the login', async () => {
    const { knex } = await opened({ password: 'wrong' });
    const lines: string[] = [];
    await expect(
      reachDatabase(knex, { waitMs: LONG_MS, log: (line) => lines.push(line) }),
    ).rejects.toMatchObject({ code: 'ER_ACCESS_DENIED_ERROR' });
    expect(lines).toEqual([]);
  });
});

describe('the wait for a database that stays away', () => {
  async function waitFor(
    waitMs: number,
    stop?: AbortSignal,
  ): Promise<{ lines: string[]; tookMs: number; error: unknown }> {
    const location = { host: '127.0.0.1', port: await freePort(), user: 'u', password: 'p', database: 'd' };
    const knex = openDatabase({ engine: 'mysql', ...location });
    const lines: string[] = [];
    const begunAt = performance.now();
    const error = await reachDatabase(knex, { waitMs, stop, log: (line) => lines.push(line) }).catch(
      (reason: unknown) => reason,
    );
    const tookMs = performance.now() - begunAt;
    await knex.destroy();
    return { lines, tookMs, error };
  }

  it('ends at its limit with the reason', async () => {
    const { tookMs, error } = await waitFor(500);
    expect(error).toMatchObject({ code: 'ECONNREFUSED' });
    expect(tookMs).toBeGreaterThanOrEqual(490);
  });

  it('does not begin without a limit', async () => {
    const { lines, error } = await waitFor(0);
    expect(error).toMatchObject({ code: 'ECONNREFUSED' });
    expect(lines).toEqual([]);
  });

  it('ends at once when it is stopped', async () => {
    const stop = new AbortController();
    const waited = waitFor(LONG_MS, stop.signal);
    await delay(300);
    stop.abort();
    const { tookMs, error } = await waited;
    expect(error).toMatchObject({ name: 'AbortError' });
    expect(tookMs).toBeLessThan(LONG_MS / 2);
  });
});
