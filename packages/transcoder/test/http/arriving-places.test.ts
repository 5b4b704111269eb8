import { expect, it } from 'vitest';
import { ArrivingPlaces } from '../../src/http/arriving-places.js';

it.each([
  { maxRequests: 5, most: 2 },
  { maxRequests: 1, most: 1 },
])('arriving requests take at most $most of $maxRequests places', ({ maxRequests, most }) => {
  const places = new ArrivingPlaces(maxRequests);
  const take = (): void => {
    places.take();
  };
  for (let taken = 0; taken < most; taken += 1) take();
  expect(take).toThrow(expect.objectContaining({ reason: 'OVERLOADED' }));
  places.leave();
  expect(take).not.toThrow();
});
