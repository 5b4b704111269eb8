import { describe, expect, it } from 'vitest';
import type { Goal, Measured, Sample } from '../../bench/figures.js';
import { judge } from '../../bench/goals.js';

const LIMIT = 'the limit';
const SERVICE = 'the service';

function measured(name: string, samples: readonly Sample[]): Measured {
  return { name, goals: [], samples };
}

function rates(name: string, values: readonly number[]): Measured {
  return measured(
    name,
    values.map((rate) => ({ rate })),
  );
}

function judgeOne(goal: Goal, service: Measured, ...others: readonly Measured[]): ReturnType<typeof judge> {
  return judge(goal, service, [service, ...others]);
}

describe('a goal that is a least value', () => {
  const goal: Goal = { figure: 'rate', atLeast: 100 };
  it.each([
    ['even the worse quartile reaches it', [90, 100, 110, 120, 130], 'yes'],
    ['only the worse quartile misses it', [90, 99, 110, 120, 130], 'open'],
    ['only the better quartile reaches it', [70, 80, 90, 100, 110], 'open'],
    ['even the better quartile misses it', [70, 80, 90, 99, 110], 'NO'],
  ])('where %s: %j is "%s"', (_reason, values, ok) => {
    expect(judgeOne(goal, rates(SERVICE, values)).ok).toBe(ok);
  });
});

describe('a goal that is a greatest value', () => {
  const goal: Goal = { figure: 'rssMib', atMost: 400 };
  it.each([
    ['even the worse quartile reaches it', [380, 385, 390, 400, 410], 'yes'],
    ['only the worse quartile misses it', [380, 385, 390, 401, 410], 'open'],
    ['only the better quartile reaches it', [390, 400, 410, 420, 430], 'open'],
    ['even the better quartile misses it', [390, 401, 410, 420, 430], 'NO'],
  ])('where %s: %j is "%s"', (_reason, values, ok) => {
    const service = measured(
      SERVICE,
      values.map((rssMib) => ({ rssMib })),
    );
    expect(judgeOne(goal, service).ok).toBe(ok);
  });
});

it('a ratio is taken within each round, so that a machine of changing speed changes no verdict', () => {
  const verdict = judgeOne(
    { figure: 'rate', times: LIMIT, atLeast: 0.85 },
    rates(SERVICE, [900, 90, 450, 180, 1_800]),
    rates(LIMIT, [1_000, 100, 500, 200, 2_000]),
  );
  expect(verdict).toEqual({ reached: '0.90 (0.90 to 0.90) × the limit', toReach: '≥ 0.85 ×', ok: 'yes' });
});

it('a difference is taken within each round as well', () => {
  const p99 = (name: string, values: readonly number[]): Measured =>
    measured(
      name,
      values.map((p99Ms) => ({ p99Ms })),
    );
  const goal: Goal = { figure: 'p99Ms', over: LIMIT, atMost: 5 };
  const verdict = judgeOne(goal, p99(SERVICE, [4, 14, 24]), p99(LIMIT, [1, 10, 20]));
  expect(verdict).toEqual({
    reached: '4.00 (3.00 to 4.00) ms over the limit',
    toReach: '≤ 5 ms',
    ok: 'yes',
  });
});

it.each([
  ['of the scenario', measured(SERVICE, [{}, {}]), rates(LIMIT, [1, 1])],
  ['of the scenario that it is compared with', rates(SERVICE, [1, 1]), measured(LIMIT, [{}, {}])],
])('a goal stays open when no round has seen the figure %s', (_whose, service, limit) => {
  expect(judgeOne({ figure: 'rate', times: LIMIT, atLeast: 0.5 }, service, limit).ok).toBe('open');
});

it('a goal that names no scenario of the run is an error', () => {
  expect(() => judgeOne({ figure: 'rate', times: LIMIT, atLeast: 1 }, rates(SERVICE, [1]))).toThrow(
    'No scenario is called "the limit".',
  );
});
