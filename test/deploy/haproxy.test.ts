import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { TRAILERS_MAX_BYTES } from '../../src/calls/failures.js';
import { Route } from '../../src/gen/routing/v1/route_service.js';
import { PATH_MAX } from '../../src/registry/path-pattern.js';
import { METHOD_MAX, MIDDLEWARE_MAX, NAME_MAX } from '../../src/registry/route.js';

const FILE = resolve(import.meta.dirname, '../../deploy/haproxy/haproxy.cfg');
/** HAProxy reserves part of each buffer for headers that it adds (`tune.maxrewrite`), and HTTP/2 frames take some of it. */
const OVERHEAD_BYTES = 2_048;

it('an HAProxy buffer holds the response with the largest route of ASCII names, including the trailers', () => {
  const largest = Route.encode({
    id: '01a1f941-715b-7593-b057-19259d7b5bfc',
    method: 'M'.repeat(METHOD_MAX),
    path: `/${'p'.repeat(PATH_MAX - 1)}`,
    middleware: Array<string>(MIDDLEWARE_MAX).fill('m'.repeat(NAME_MAX)),
    handler: 'h'.repeat(NAME_MAX),
    createdAt: new Date(),
  }).finish();
  const needed = largest.length + TRAILERS_MAX_BYTES + OVERHEAD_BYTES;
  const [, bytes = '0'] = /^ *tune\.bufsize (\d+)$/m.exec(readFileSync(FILE, 'utf8')) ?? [];
  expect(Number(bytes)).toBeGreaterThan(needed);
});
