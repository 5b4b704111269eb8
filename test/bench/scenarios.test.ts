import { expect, it } from 'vitest';
import { FULL, QUICK } from '../../bench/scale.js';
import { atHalfLoad, atRate, scenarios, TIMED } from '../../bench/scenarios.js';
import type { TargetName } from '../../bench/testbed.js';

const SHARED: readonly TargetName[] = ['service', 'logging', 'gateway', 'echo', 'app', 'hop', 'cold'];
const PEERS: readonly TargetName[] = ['fastify', 'tutorial', 'tutorial gateway', 'go', 'go with a cache'];
const TARGETS = new Set<TargetName>([...SHARED, ...PEERS, 'alone', 'unmetered', 'unlogged', 'traced']);

it('tail latency of the service and the bare servers is measured at half of the median rate of each', () => {
  const planned = scenarios(QUICK, TARGETS).flat();
  const measured = planned.map(({ name }, i) => ({
    name,
    samples: [i, 1_000 + i, 9_000].map((rate) => ({ rate })),
  }));
  const place = (name: string): number => planned.findIndex((scenario) => scenario.name === name);
  expect(atHalfLoad(planned, measured).map(({ name, rate }) => [name, rate])).toEqual(
    TIMED.map((name) => [atRate(name, 'half'), (1_000 + place(name)) / 2]),
  );
  expect(TIMED).toHaveLength(4);
});

it.each([FULL, QUICK])('at the scale "$name", no two scenarios have the same name', (scale) => {
  const names = scenarios(scale, TARGETS).flatMap((group) => group.map(({ name }) => name));
  expect(new Set(names).size).toBe(names.length);
});
