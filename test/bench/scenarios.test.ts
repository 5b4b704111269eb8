import { describe, expect, it } from 'vitest';
import { FULL, QUICK } from '../../bench/scale.js';
import { atHalfLoad, scenarios } from '../../bench/scenarios.js';

it('the tails of both faces and of the echo are seen at half of what each reached, the median of its rounds', () => {
  const planned = scenarios(QUICK).flat();
  const measured = planned.map(({ name, goals }, i) => ({
    name,
    goals,
    samples: [i, 1_000 + i, 9_000].map((rate) => ({ rate })),
  }));
  const halved = atHalfLoad(planned, measured);
  const place = (name: string): number => planned.findIndex((scenario) => scenario.name === name);
  const goal = { figure: 'p99Ms', times: 'grpc-js echo, half load', atMost: 0.5 };
  expect(halved.map(({ name, rate, goals }) => ({ name, rate, goals }))).toEqual([
    { name: 'grpc-js echo, half load', rate: (1_000 + place('grpc-js echo')) / 2, goals: [] },
    {
      name: 'gRPC GetRoute, uniform, half load',
      rate: (1_000 + place('gRPC GetRoute, uniform')) / 2,
      goals: [goal],
    },
    {
      name: 'REST GetRoute, uniform, half load',
      rate: (1_000 + place('REST GetRoute, uniform')) / 2,
      goals: [goal],
    },
  ]);
});

describe.each([FULL, QUICK])('in the scale "$name"', (scale) => {
  it('what a scenario is compared with runs in the same group, within seconds of it', () => {
    const torn = scenarios(scale).flatMap((group) => {
      const names = group.map(({ name }) => name);
      const compared = group.flatMap(({ goals }) => goals).flatMap(({ times, over }) => times ?? over ?? []);
      return compared.filter((name) => !names.includes(name));
    });
    expect(torn).toEqual([]);
  });

  it('no two scenarios have one name', () => {
    const names = scenarios(scale).flatMap((group) => group.map(({ name }) => name));
    expect(new Set(names).size).toBe(names.length);
  });
});
