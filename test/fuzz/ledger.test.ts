import { expect, it } from 'vitest';
import { FORBIDDEN, Ledger } from '../../fuzz/ledger.js';

const ROUTE = {
  id: '01a1f941-715b-7593-b057-19259d7b5bfc',
  method: 'GET',
  path: '/users/:id',
  middleware: ['authenticate'],
  handler: 'getUser',
  createdAt: '2026-11-20T13:59:38.075Z',
};
const OTHER = { ...ROUTE, id: '01a1f941-715b-7593-b057-19259d7b5bfd' };

it.each([
  ['a lost route', 0, [], ['is not stored as acknowledged']],
  ['a changed route', 0, [{ ...ROUTE, handler: 'other' }], ['is not stored as acknowledged']],
  ['an unacknowledged route', 0, [ROUTE, OTHER], ['1 stored routes were never acknowledged']],
  ['no unacknowledged route after a missed response', 1, [ROUTE, OTHER], []],
  [
    'a route of a client without a token',
    1,
    [ROUTE, { ...OTHER, handler: FORBIDDEN }],
    ['without a valid token'],
  ],
])('the ledger of acknowledged routes reports %s', (_, unsure, stored, problems) => {
  const ledger = new Ledger();
  expect([ledger.acknowledge(ROUTE), ledger.acknowledge(ROUTE)]).toEqual([[], []]);
  ledger.unsure = unsure;
  expect(ledger.compare(stored)).toEqual(
    problems.map((problem) => expect.stringContaining(problem) as string),
  );
});

it('the ledger reports a route that is acknowledged twice with different contents', () => {
  const ledger = new Ledger();
  ledger.acknowledge(ROUTE);
  expect(ledger.acknowledge({ ...ROUTE, path: '/other' })).toHaveLength(1);
});
