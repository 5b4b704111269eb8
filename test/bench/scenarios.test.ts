import { expect, it } from 'vitest';
import { sampleWith } from '../../bench/figures.js';
import { QUICK } from '../../bench/scale.js';
import { atHalfLoad, scenarios } from '../../bench/scenarios.js';

it('the tails of both faces and of the echo are seen at half of what each reached, the median of its rounds', () => {
  const planned = scenarios(QUICK);
  const measured = planned.map(({ name }, i) => ({
    name,
    samples: [i, 1_000 + i, 9_000].map((rate) => sampleWith({ rate })),
  }));
  const halved = atHalfLoad(planned, measured);
  const place = (name: string): number => planned.findIndex((scenario) => scenario.name === name);
  const goal = { figure: 'p99', times: 'grpc-js echo, half load', atMost: 0.5 };
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
