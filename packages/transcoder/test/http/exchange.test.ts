import { describe, expect, it } from 'vitest';
import { loggedPath } from '../../src/http/finish.js';

describe('a path in the log', () => {
  const uuid = '01a1f941-715b-7593-b057-19259d7b5bfc';

  it.each([
    ['is unchanged if it is short', `/v1/shelves/${uuid}`, `/v1/shelves/${uuid}`],
    ['has no query', '/v1/shelves/1?access_token=x', '/v1/shelves/1'],
    ['has no user name and password', 'http://user:password@host/v1/shelves', '/v1/shelves'],
    ['has its long segments cut, which may be tokens', `/v1/${'t'.repeat(37)}/x`, '/v1/tttttttt…/x'],
    ['is cut after 128 characters', '/ab'.repeat(100), `${'/ab'.repeat(43).slice(0, 127)}…`],
    ['has escapes for bytes that are not visible ASCII', '/a\u009b\u00e9 b', '/a%9B%E9%20b'],
  ])('%s', (_, target, shown) => {
    expect(loggedPath(target)).toBe(shown);
  });
});
