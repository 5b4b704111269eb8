import { describe, expect, it } from 'vitest';
import { Ledger, FORBIDDEN } from '../../fuzz/ledger.js';

const ROUTE = {
  id: '01a1f941-715b-7593-b057-19259d7b5bfc',
  method: 'GET',
  path: '/users/:id',
  middleware: ['authenticate'],
  handler: 'getUser',
  createdAt: '2026-11-20T13:59:38.075Z',
};
const OTHER = { ...ROUTE, id: '01a1f941-715b-7593-b057-19259d7b5bfd' };

describe('the ledger of acknowledged routes', () => {
  it('agrees with a database that stores exactly these routes', () => {
    const ledger = new Ledger();
    expect(ledger.acknowledge(ROUTE)).toEqual([]);
    expect(ledger.acknowledge(ROUTE)).toEqual([]);
    expect(ledger.compare([ROUTE])).toEqual([]);
  });

  it.each([
    ['a lost route', [], /is not stored as acknowledged/],
    ['a changed route', [{ ...ROUTE, handler: 'other' }], /is not stored as acknowledged/],
    ['an unacknowledged route', [ROUTE, OTHER], /1 stored routes were never acknowledged/],
  ])('reports %s', (_, stored, problem) => {
    const ledger = new Ledger();
    ledger.acknowledge(ROUTE);
    expect(ledger.compare(stored)).toEqual([expect.stringMatching(problem)]);
  });

  it('allows one unacknowledged route per missed response, but none from a client without a valid token', () => {
    const ledger = new Ledger();
    ledger.unsure = 1;
    expect(ledger.compare([OTHER])).toEqual([]);
    expect(ledger.compare([{ ...OTHER, handler: FORBIDDEN }])).toEqual([
      expect.stringMatching(/for a client without a valid token/),
    ]);
  });

  it('reports a route that is acknowledged twice with different contents', () => {
    const ledger = new Ledger();
    ledger.acknowledge(ROUTE);
    expect(ledger.acknowledge({ ...ROUTE, path: '/other' })).toEqual([
      expect.stringMatching(/with two different contents/),
    ]);
  });
});
