import { validate, version } from 'uuid';
import { describe, expect, it } from 'vitest';
import { newRouteId } from '../../src/registry/registry.js';

describe('the id of a new route', () => {
  it('is a UUIDv7 in canonical lower case with the given time', () => {
    const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
    const id = newRouteId(nowMs);
    expect([validate(id), version(id), id]).toEqual([true, 7, id.toLowerCase()]);
    expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(nowMs);
  });

  it('is unique among many that are made in one millisecond', () => {
    const ids = Array.from({ length: 2_000 }, () => newRouteId(0));
    expect(new Set(ids).size).toBe(ids.length);
  });
});
