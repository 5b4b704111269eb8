import { expect, it } from 'vitest';
import { Limiter } from '../../src/calls/limiter.js';

it('a place that nobody holds cannot be released, and the limit stays as it was', () => {
  const limiter = new Limiter('calls', 1);
  limiter.acquire('mine');
  expect(() => {
    limiter.release('yours');
  }).toThrow('a key that holds none');
  expect(limiter.acquire('yours')).toBe(false);
});
