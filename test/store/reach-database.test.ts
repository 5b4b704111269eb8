import { expect, it, describe, onTestFinished } from 'vitest';
import { parseDatabaseUrl } from '../../src/settings/database.js';
import { openDatabase, reachDatabase } from '../../src/store/database.js';
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
    const knex = openDatabase({ ...location, password: 'wrong' } as typeof location);
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
    onLine: () => void = () => undefined,
  ): Promise<{ lines: string[]; error: unknown }> {
    const knex = openDatabase(parseDatabaseUrl(`mysql://u:p@127.0.0.1:${await freePort()}/d`));
    onTestFinished(() => knex.destroy());
    const lines: string[] = [];
    const log = (line: string): void => {
      lines.push(line);
      onLine();
    };
    const error = await reachDatabase(knex, { ...options, log }).catch((reason: unknown) => reason);
    return { lines, error };
  }

  it('ends at its time limit with the error', async () => {
    const { lines, error } = await waitFor({ waitMs: 50 });
    expect(error).toMatchObject({ code: 'ECONNREFUSED' });
    expect(lines).toEqual(['waiting up to 0.05 s for the database']);
  });

  it('does not start with a time limit of 0', async () => {
    const { lines, error } = await waitFor({ waitMs: 0 });
    expect(error).toMatchObject({ code: 'ECONNREFUSED' });
    expect(lines).toEqual([]);
  });

  it('doubles its pause after each attempt, up to two seconds, and never pauses beyond its time limit', async () => {
    const pauses: number[] = [];
    const pause = (ms: number): Promise<void> =>
      pauses.push(ms) < 6 ? Promise.resolve() : Promise.reject(new Error('enough'));
    await expect(waitFor({ waitMs: 600_000, pause })).resolves.toMatchObject({
      error: { message: 'enough' },
    });
    expect(pauses).toEqual([200, 400, 800, 1_600, 2_000, 2_000]);
    await waitFor({
      waitMs: 100,
      pause: (ms) => Promise.reject(new Error(String(pauses.unshift(ms)))),
    });
    expect(pauses[0]).toBeLessThanOrEqual(100);
  });

  it('ends when it is stopped', async () => {
    const stop = new AbortController();
    const { error } = await waitFor({ waitMs: 600_000, stop: stop.signal }, () => {
      stop.abort();
    });
    expect(error).toMatchObject({ name: 'AbortError' });
  });
});
