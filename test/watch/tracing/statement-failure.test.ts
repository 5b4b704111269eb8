import { describe, expect, it } from 'vitest';
import { storeUnavailable, translate } from '../../../src/store/driver-errors.js';
import { failureOf } from '../../../src/watch/tracing/spans.js';

const driverError = (facts: object): unknown => translate(Object.assign(new Error('select secret'), facts));

describe('the reason of a failed statement', () => {
  it.each([
    ['a MySQL error number', { errno: 1062, code: 'ER_DUP_ENTRY' }, '1062'],
    [
      'a MySQL error number that makes the store unavailable',
      { errno: 1040, code: 'ER_CON_COUNT_ERROR' },
      '1040',
    ],
    ['a SQLite error code', { code: 'SQLITE_BUSY' }, 'SQLITE_BUSY'],
  ])('is %s', (_, facts, code) => {
    expect(failureOf(driverError(facts))).toEqual({ 'db.response.status_code': code, 'error.type': code });
  });

  it('is only the error type for a failed connection, since the database sent no status code', () => {
    const error = driverError({ errno: -111, code: 'ECONNREFUSED' });
    expect(failureOf(error)).toEqual({ 'error.type': 'ECONNREFUSED' });
  });

  it.each([[new Error('select secret')], [storeUnavailable(new Error('x'))], ['text'], [null]])(
    'is unknown for %s',
    (error) => {
      expect(failureOf(error)).toEqual({ 'error.type': '_OTHER' });
    },
  );
});
