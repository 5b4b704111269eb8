import { describe, expect, it } from 'vitest';
import { exceeds, type Measured, ratiosOf, shown } from '../../bench/figures.js';
import { tooDear } from '../../bench/side-by-side.js';

function costs(...values: readonly number[]): Measured {
  return { name: 'a call', samples: values.map((serverCpuMs) => ({ serverCpuMs })) };
}

describe('a figure', () => {
  it.each([
    ['ends with the digit that its spread has', [7_791, 7_100, 8_603], '7,800 ± 800'],
    ['has no decimals that its spread does not allow', [0.134, 0.151, 0.12], '0.13 ± 0.02'],
    ['has a single digit where the rounds differ by a third', [1_766, 1_200, 2_300], '1,800 ± 600'],
    ['keeps its first digit where its spread is larger', [4.41, 2.9, 15], '4 ± 10'],
    ['has a spread that rounds up to the next place', [500, 596, 500], '500 ± 100'],
    ['has three digits at most', [7_654.3, 7_654.2, 7_654.4], '7,650 ± 10'],
    ['shows that no round differs', [500, 500, 500], '500 ± 0'],
    ['reaches to the farther quartile of many rounds', [1, 10, 10, 10, 11, 11, 12, 12, 90], '11 ± 1'],
    ['is absent without a round', [], ''],
  ])('%s', (_fact, values, text) => {
    expect(shown(values)).toBe(text);
  });
});

it('a figure is ahead of another only where their spreads do not touch', () => {
  expect(exceeds([110, 120, 130], [90, 100, 109])).toBe(true);
  expect(exceeds([110, 120, 130], [90, 100, 110])).toBe(false);
});

it('ratios are those within each round that has both figures, so that a machine of varying speed does not distort them', () => {
  const other = { name: 'another', samples: [{ serverCpuMs: 2 }, {}, { serverCpuMs: 20 }] };
  expect(ratiosOf('serverCpuMs', costs(1, 5, 10), other)).toEqual([0.5, 0.5]);
});

it('a version is refused when the median cost of a call exceeds 1.05 times that of the version before', () => {
  const pair = (name: string, ...values: number[]): Parameters<typeof tooDear>[0][number] => ({
    name,
    base: costs(1, 1, 1),
    other: costs(...values),
  });
  expect(tooDear([pair('gRPC get', 1.3, 1.05, 1), pair('REST get', 1, 1.06, 1.2)])).toEqual([
    'REST get costs 1.06 times the CPU time of the version before (1.1 ± 0.1); at most 1.05 is allowed.',
  ]);
});
