import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Monitor, type MonitorOptions } from '../../src/observability/monitor.js';

const LIMIT_MS = 20;
const INTERVAL_MS = 10;

/** A store that responds to checks unless it is silent. */
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

/** Starts a monitor and waits for its first outcome. Outcomes and log lines are recorded from the start. */
async function watch(
  options: Partial<MonitorOptions>,
): Promise<{ monitor: Monitor; outcomes: boolean[]; lines: string[] }> {
  const outcomes: boolean[] = [];
  const lines: string[] = [];
  const monitor = new Monitor({
    name: 'the store',
    check: () => Promise.resolve(),
    onChange: (well) => outcomes.push(well),
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

/** Checks that succeed or fail as given, one after the other. Later checks never end. */
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

describe('a watched store', () => {
  const [up, down] = ['the store answers', 'the store does not answer: not serving'];
  it.each([
    { checked: [true, true, true], changes: [true], logged: [up] },
    { checked: [true, false, true, false], changes: [true], logged: [up] },
    { checked: [true, false, false, false], changes: [true, false], logged: [up, down] },
    { checked: [true, false, false, true], changes: [true, false, true], logged: [up, down, up] },
    { checked: [false, false], changes: [false], logged: [] },
    { checked: [false, false, true, false], changes: [false, true], logged: [up] },
  ])(
    'is down after two failures in a row, or if its first check fails, and is logged when it goes or comes back: $checked',
    async ({ checked, changes, logged }) => {
      const { check, over } = checks(...checked);
      const { monitor, outcomes, lines } = await watch({ check, intervalMs: 1, limitMs: 10_000 });
      await over;
      expect(outcomes).toEqual(changes);
      expect(lines).toEqual(logged);
      expect(monitor.well).toBe(changes.at(-1));
    },
  );

  it('keeps its state when a check that was in progress at the stop of the monitor succeeds', async () => {
    const { check, over } = checks(false);
    const store = new Store();
    store.fallSilent();
    const { monitor, outcomes } = await watch({
      check: () => Promise.race([check(), store.ping()]),
      intervalMs: 1,
      limitMs: 10_000,
    });
    await over;
    monitor.stop();
    store.answer();
    await setImmediate();
    expect({ well: monitor.well, outcomes }).toEqual({ well: false, outcomes: [false] });
  });
});

describe('while the store is silent', () => {
  it('its checks fail at their time limit, until it responds', async () => {
    const store = new Store();
    const { monitor } = await watch({ check: store.ping });
    expect(monitor.well).toBe(true);
    store.fallSilent();
    await expect.poll(() => monitor.well).toBe(false);
    store.answer();
    await expect.poll(() => monitor.well).toBe(true);
  });

  it('no further check is sent while one is pending', async () => {
    const store = new Store();
    const { monitor } = await watch({ check: store.ping });
    store.fallSilent();
    await expect.poll(() => monitor.well).toBe(false);
    // Two checks have failed by now, but only the first of them was sent.
    expect(store.asked).toBe(2);
  });
});
