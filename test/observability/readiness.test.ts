import { describe, expect, it } from 'vitest';
import { Readiness } from '../../src/observability/readiness.js';

/** The readiness of a running process, with a database in this state. */
function running(well: boolean | undefined): Readiness {
  const readiness = new Readiness(['database']);
  readiness.watch('database', { well });
  readiness.run();
  return readiness;
}

describe('a process', () => {
  it('is starting until it listens, whatever its checks', () => {
    const readiness = new Readiness(['database']);
    readiness.watch('database', { well: true });
    expect(readiness.report).toEqual({
      status: 'starting',
      checks: { process: { ok: false, state: 'starting' }, database: { ok: true, state: 'up' } },
    });
  });

  it('is not ready while a check has no outcome', () => {
    const readiness = new Readiness(['database', 'schema']);
    readiness.watch('database', { well: true });
    readiness.run();
    expect(readiness.report).toMatchObject({
      status: 'not ready',
      checks: { schema: { ok: false, state: 'starting' } },
    });
    readiness.pass('schema', 'version 2');
    expect(readiness.report).toMatchObject({
      status: 'ready',
      checks: { schema: { ok: true, state: 'version 2' } },
    });
  });

  it.each([
    { well: undefined, status: 'not ready', state: 'starting' },
    { well: true, status: 'ready', state: 'up' },
    { well: false, status: 'not ready', state: 'down' },
  ])('is $status with a check that is $state', ({ well, status, state }) => {
    expect(running(well).report).toMatchObject({ status, checks: { database: { state } } });
  });

  it('reports that it is draining, even with passing checks', () => {
    const readiness = running(true);
    expect(readiness.draining).toBe(false);
    readiness.drain();
    expect(readiness.draining).toBe(true);
    expect(readiness.report).toEqual({
      status: 'draining',
      checks: { process: { ok: false, state: 'draining' }, database: { ok: true, state: 'up' } },
    });
  });
});
