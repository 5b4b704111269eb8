import fc from '../support/fast-check.js';
import { describe, expect, it } from 'vitest';
import { CLIENT_ID_MAX, Registry } from '../../src/registry/registry.js';
import {
  readDefinition,
  METHOD_MAX,
  MIDDLEWARE_MAX,
  NAME_MAX,
  type RouteDefinition,
} from '../../src/registry/route.js';
import { PATH_MAX } from '../../src/registry/path-pattern.js';
import type { RouteStore } from '../../src/registry/route-store.js';
import { openApi, validatorOf } from '../support/openapi.js';

const ajv = validatorOf(openApi());
const isRouteInput = ajv.compile({ $ref: 'openapi#/components/schemas/RouteInput' });
const requestIdSchema = 'openapi#/paths/~1v1~1routing/post/parameters/0/schema';
const isRequestId = ajv.compile({ $ref: requestIdSchema });

const VALID: RouteDefinition = { method: 'GET', path: '/users/:id', middleware: [], handler: 'getUser' };

/** Random text built from the given pieces, most of which are edge cases of the rules. */
function textOf(...pieces: readonly string[]): fc.Arbitrary<string> {
  return fc.array(fc.constantFrom(...pieces), { maxLength: 8 }).map((parts) => parts.join(''));
}

const method = textOf('G', 'z', '0', '!', '~', '`', '|', '-', '/', '(', ' ', 'é', '😀', '\u007f', '\ud800');
const name = textOf(...Array.from('a:é😀 \t\u00a0\u1680\ufeff\u2028\u200b\u0085\0'));
const definition = fc.record({
  method: fc.oneof(fc.constant('GET'), method),
  path: fc.constantFrom('/', '/users/:id', 'users'),
  middleware: fc.array(name, { maxLength: 3 }),
  handler: fc.oneof(fc.constant('h'), name),
});

describe('the schema of a create request', () => {
  it.each([
    ['method', () => method.map((text) => ({ ...VALID, method: text }))],
    ['handler', () => name.map((text) => ({ ...VALID, handler: text }))],
    ['middleware', () => name.map((text) => ({ ...VALID, middleware: ['m', text] }))],
    ['all fields together', () => definition],
  ])('accepts exactly what the registry accepts: %s', (_, arbitrary) => {
    fc.assert(
      fc.property(arbitrary(), (candidate) => {
        expect(isRouteInput(candidate)).toBe(readDefinition(candidate).violations.length === 0);
      }),
      { numRuns: 500 },
    );
  });

  it.each(['users', '*', '', '/a b', '/é', '/a\\'])('refuses the path %j', (path) => {
    expect(isRouteInput({ ...VALID, path })).toBe(false);
  });

  const long = (length: number): Partial<RouteDefinition>[] => [
    { method: 'M'.repeat(length) },
    { handler: '😀'.repeat(length) },
    { middleware: ['😀'.repeat(length)] },
    { path: `/${'p'.repeat(length - 1)}` },
    { middleware: Array<string>(length).fill('m') },
  ];
  const borders = [METHOD_MAX, NAME_MAX, PATH_MAX, MIDDLEWARE_MAX].flatMap((max) => [max, max + 1]);

  it.each([1, ...borders])('agrees with the registry at length %d', (length) => {
    for (const change of long(length)) {
      const candidate = { ...VALID, ...change };
      expect(isRouteInput(candidate)).toBe(readDefinition(candidate).violations.length === 0);
    }
  });

  it.each([
    ['a missing field', { method: 'GET', path: '/' }],
    ['an unknown field', { ...VALID, name: 'x' }],
  ])('refuses %s', (_, candidate) => {
    expect(isRouteInput(candidate)).toBe(false);
  });

  it('accepts a body without middleware', () => {
    expect(isRouteInput({ method: 'GET', path: '/', handler: 'h' })).toBe(true);
  });
});

describe('the schema of a request id', () => {
  const store: Pick<RouteStore, 'findByIdempotencyKey' | 'findDuplicate'> = {
    findByIdempotencyKey: () => Promise.resolve(undefined),
    findDuplicate: () => Promise.resolve(undefined),
  };
  const registry = new Registry({
    store: store as RouteStore,
    now: () => 0,
    newId: () => '',
  });

  function accepts(requestId: string): Promise<boolean> {
    const checked = registry.check({
      definition: VALID,
      caller: 'tester',
      idempotencyKeys: [{ field: 'request_id', value: requestId }],
    });
    return checked.then(
      () => true,
      () => false,
    );
  }

  it('accepts exactly what the registry accepts', async () => {
    const edges = textOf('!', '~', 'a', '-', ' ', '\u007f', '\u0000', 'é', '😀');
    const lengths = fc.constantFrom(CLIENT_ID_MAX, CLIENT_ID_MAX + 1).map((length) => 'k'.repeat(length));
    await fc.assert(
      fc.asyncProperty(fc.oneof(edges, lengths), async (requestId) => {
        expect(isRequestId(requestId)).toBe(await accepts(requestId));
      }),
    );
  });
});
