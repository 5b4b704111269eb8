import { performance } from 'node:perf_hooks';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { reachDatabase } from '../../src/run/database-wait.js';
import { parseDatabaseUrl } from '../../src/settings/database-url.js';
import { openForMigrations } from '../../src/store/database.js';
import { engines } from '../support/engines.js';
import { freePort } from '../support/free-port.js';
import { describeOn } from '../support/needs.js';
import { openEmpty } from '../support/open-store.js';
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
    const reached = reachDatabase(connect(proxy.port), {
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
      reachDatabase(knex, { waitMs: 20_000, log: (line) => lines.push(line) }),
    ).rejects.toMatchObject({ code: 'ER_ACCESS_DENIED_ERROR' });
    expect(lines).toEqual([]);
  });
});

describe('the wait for an unreachable database', () => {
  /** Waits, and resolves with the error and the logged lines. */
  async function waitFor(
    options: Omit<Parameters<typeof reachDatabase>[1], 'log'>,
    onLine: () => unknown = () => undefined,
  ): Promise<{ lines: string[]; error: unknown }> {
    const knex = openForMigrations(parseDatabaseUrl(`mysql://u:p@127.0.0.1:${await freePort()}/d`));
    onTestFinished(() => knex.destroy());
    const lines: string[] = [];
    const log = (line: string): void => {
      lines.push(line);
      onLine();
    };
    const error = await reachDatabase(knex, { ...options, log }).catch((reason: unknown) => reason);
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
    expect(error).toMatchObject({ code: 'ECONNREFUSED' });
    expect(lines).toEqual(['waiting up to 6.5 s for the database']);
    expect(events).toEqual(['line', 200, 400, 800, 1_600, 2_000, 1_500]);
  });

  it('does not start with a time limit of 0', async () => {
    const { lines, error } = await waitFor({ waitMs: 0 });
    expect(error).toMatchObject({ code: 'ECONNREFUSED' });
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
