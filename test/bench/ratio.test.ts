import { describe, expect, it } from 'vitest';
import type { Measured, Sample } from '../../bench/figures.js';
import { ratioOf } from '../../bench/ratio.js';
import { tooDear } from '../../bench/report/pairs.js';

function measured(name: string, samples: readonly Sample[]): Measured {
  return { name, samples };
}

function costs(values: readonly number[]): Measured {
  return measured(
    'a call',
    values.map((serverCpuMs) => ({ serverCpuMs })),
  );
}

it('a ratio is computed within each round, so that a machine of varying speed does not distort it', () => {
  const rates = (values: readonly number[]): Measured =>
    measured(
      'a call',
      values.map((rate) => ({ rate })),
    );
  const ratio = ratioOf('rate', rates([900, 90, 450, 180, 1_800]), rates([1_000, 100, 500, 200, 2_000]));
  expect(ratio).toEqual({ low: 0.9, middle: 0.9, high: 0.9 });
});

it.each([
  ['of the scenario', [{}, {}], [{ rate: 1 }, { rate: 1 }]],
  ['of the scenario that it is compared with', [{ rate: 1 }, { rate: 1 }], [{}, {}]],
])('there is no ratio when no round has the figure %s', (_whose, samples, others) => {
  expect(ratioOf('rate', measured('one', samples), measured('other', others))).toBeUndefined();
});

describe('a comparison with the previous version', () => {
  it.each([
    ['accepts a call whose median cost is 5 percent higher', [1.3, 1.05, 1]],
    ['accepts a call that costs less', [0.8, 0.9, 0.7]],
  ])('%s', (_fact, values) => {
    expect(tooDear([{ name: 'gRPC get', base: costs([1, 1, 1]), other: costs(values) }])).toEqual([]);
  });

  it('reports each call whose median cost is more than 5 percent higher', () => {
    expect(
      tooDear([
        { name: 'gRPC get', base: costs([1, 1, 1]), other: costs([1, 1.06, 1.2]) },
        { name: 'REST get', base: costs([1, 1, 1]), other: costs([1, 1, 1]) },
      ]),
    ).toEqual([
      'gRPC get costs 1.06 (1.00 to 1.20) times the CPU time of the version before; at most 1.05 is allowed.',
    ]);
  });
});
