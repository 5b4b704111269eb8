import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Monitor, type MonitorOptions } from '../../src/watch/monitor.js';

const LIMIT_MS = 20;
const INTERVAL_MS = 10;

/** A store that answers a check when it is not silent. */
class Store {
  asked = 0;
  #answered = Promise.resolve();
  #answer: () => void = () => undefined;

  readonly ping = async (): Promise<void> => {
    this.asked++;
    await this.#answered;
  };

  fallSilent(): void {
    this.#answered = new Promise((resolve) => (this.#answer = resolve));
  }

  answer(): void {
    this.#answer();
  }
}

/** A monitor that has had its first outcome, with what it has said since. */
async function watch(
  options: Partial<MonitorOptions>,
): Promise<{ monitor: Monitor; outcomes: boolean[]; lines: string[] }> {
  const outcomes: boolean[] = [];
  const lines: string[] = [];
  const monitor = new Monitor({
    name: 'the store',
    check: () => Promise.resolve(),
    onChecked: (well) => outcomes.push(well),
    log: { info: (line) => lines.push(line), warn: (_entry, line) => lines.push(line) },
    intervalMs: INTERVAL_MS,
    limitMs: LIMIT_MS,
    ...options,
  });
  onTestFinished(() => {
    monitor.stop();
  });
  await monitor.start();
  return { monitor, outcomes, lines };
}

/** Checks that go as given, one after the other, and then never end. */
function checks(...well: readonly boolean[]): { check: () => Promise<void>; over: Promise<void> } {
  const left = [...well];
  let end: () => void = () => undefined;
  const over = new Promise<void>((resolve) => (end = resolve));
  const check = (): Promise<void> => {
    const next = left.shift();
    if (next !== undefined) return next ? Promise.resolve() : Promise.reject(new Error('away'));
    end();
    return new Promise(() => undefined);
  };
  return { check, over };
}

describe('what is watched', () => {
  it.each([
    { well: [true, true, true], failures: 0 },
    { well: [true, false], failures: 1 },
    { well: [true, false, false], failures: 2 },
    { well: [true, false, false, true], failures: 0 },
    { well: [false], failures: Infinity },
    { well: [false, false, true, false], failures: 1 },
  ])('has failed $failures times in a row after checks that went $well', async ({ well, failures }) => {
    const { check, over } = checks(...well);
    const { monitor, outcomes } = await watch({ check, intervalMs: 1, limitMs: 10_000 });
    await over;
    expect(monitor.failures).toBe(failures);
    expect(outcomes).toEqual(well);
  });

  it.each([
    ['stays well', [true, true, true], ['the store answers: serving']],
    ['is away from the beginning', [false, false, false], []],
    [
      'goes and comes back',
      [true, false, false, true],
      ['the store answers: serving', 'the store does not answer: not serving', 'the store answers: serving'],
    ],
  ])('is in the log when it changes: a store that %s', async (_, well, messages) => {
    const { check, over } = checks(...well);
    const { lines } = await watch({ check, intervalMs: 1, limitMs: 10_000 });
    await over;
    expect(lines).toEqual(messages);
  });

  it('changes nothing by a check that was in progress when watching stopped', async () => {
    let fail: (error: Error) => void = () => undefined;
    const pings = [() => Promise.resolve(), () => new Promise<void>((_, reject) => (fail = reject))];
    let asked = 0;
    const check = (): Promise<void> => pings[asked++]?.() ?? Promise.resolve();
    const { monitor, outcomes } = await watch({ check, intervalMs: 1, limitMs: 10_000 });
    await expect.poll(() => asked).toBe(2);
    monitor.stop();
    fail(new Error('away'));
    await setImmediate();
    expect({ failures: monitor.failures, outcomes, asked }).toEqual({
      failures: 0,
      outcomes: [true],
      asked: 2,
    });
  });
});

describe('while the store is silent', () => {
  it('its checks fail from their limit on, until it answers', async () => {
    const store = new Store();
    const { monitor } = await watch({ check: store.ping });
    expect(monitor.failures).toBe(0);
    store.fallSilent();
    await expect.poll(() => monitor.failures).toBeGreaterThan(1);
    store.answer();
    await expect.poll(() => monitor.failures).toBe(0);
  });

  it('no check is sent beside one that is not answered', async () => {
    const store = new Store();
    const { monitor } = await watch({ check: store.ping });
    store.fallSilent();
    await expect.poll(() => monitor.failures).toBeGreaterThan(0);
    const { asked } = store;
    const { failures = 0 } = monitor;
    await expect.poll(() => monitor.failures).toBeGreaterThan(failures + 3);
    expect(store.asked).toBe(asked);
  });

  it('a check that is late has not failed while other work succeeds', async () => {
    const store = new Store();
    let working = true;
    let workedAt = 0;
    const work = (): number => (working ? (workedAt = performance.now()) : workedAt);
    const { monitor, outcomes } = await watch({ check: store.ping, workedAt: work });
    store.fallSilent();
    await expect.poll(() => outcomes.length).toBeGreaterThan(3);
    expect(monitor.failures).toBe(0);
    working = false;
    await expect.poll(() => monitor.failures).toBeGreaterThan(1);
  });

  it('a check that fails has failed, whatever other work succeeds', async () => {
    const { check, over } = checks(true, false);
    const { monitor } = await watch({ check, workedAt: () => performance.now(), limitMs: 10_000 });
    await over;
    expect(monitor.failures).toBe(1);
  });
});
