import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { withRulesOf } from '../../examples/rules-from-yaml.js';
import { httpRequest } from '../support/http-request.js';
import { branchImage } from '../support/library-contract.js';
import { listening } from '../support/opening.js';

const PACKAGE = resolve(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(resolve(PACKAGE, file), 'utf8');

const EMPTY = { code: 0, details: '', message: new Uint8Array(), answered: true };

it('the example serves what a YAML file binds, and leaves out the mixins that the contract lacks', async () => {
  const called: string[] = [];
  const { handler, skipped } = withRulesOf(read('test/contract/branch/branch_v1.yaml'), {
    descriptorSet: branchImage,
    upstream: {
      unary: ({ path }) => {
        called.push(path);
        return EMPTY;
      },
    },
  });
  expect(skipped).toEqual([
    'rules[2]: the contract has no method "google.cloud.location.Locations.GetLocation".',
  ]);
  const origin = await listening(createServer(handler));
  const headers = { 'content-type': 'application/json' };
  const statuses = [
    await httpRequest(origin, { path: '/v2/shelves/7' }),
    await httpRequest(origin, { path: '/v2/branch/shelves/7' }),
    await httpRequest(origin, { method: 'POST', path: '/v2/books/7:lend', headers, body: '{}' }),
    await httpRequest(origin, { path: '/v1/branch/shelves/7' }),
    await httpRequest(origin, { path: '/v2/locations/7' }),
  ].map(({ status }) => status);
  expect(statuses).toEqual([200, 200, 200, 404, 404]);
  expect(called).toEqual([
    '/branch.v1.Branch/GetShelf',
    '/branch.v1.Branch/GetShelf',
    '/branch.v1.Counter/Lend',
  ]);
});
