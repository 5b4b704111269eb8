import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { bearerChallenge } from '../../src/failures/bearer-challenge.js';

const bare = 'Bearer realm="library"';

describe('a bearer challenge', () => {
  it.each([
    { code: status.UNAUTHENTICATED, reason: 'TOKEN_MISSING', scope: undefined, challenge: bare },
    {
      code: status.UNAUTHENTICATED,
      reason: 'TOKEN_INVALID',
      scope: undefined,
      challenge: `${bare}, error="invalid_token"`,
    },
    {
      code: status.UNAUTHENTICATED,
      reason: undefined,
      scope: undefined,
      challenge: `${bare}, error="invalid_token"`,
    },
    {
      code: status.PERMISSION_DENIED,
      reason: 'SCOPE_MISSING',
      scope: 'a:b c',
      challenge: `${bare}, error="insufficient_scope", scope="a:b c"`,
    },
    { code: status.PERMISSION_DENIED, reason: 'SCOPE_MISSING', scope: undefined, challenge: undefined },
    { code: status.PERMISSION_DENIED, reason: 'SCOPE_MISSING', scope: 'a", x="', challenge: undefined },
    { code: status.PERMISSION_DENIED, reason: 'SCOPE_MISSING', scope: 'a\r\nb', challenge: undefined },
    { code: status.NOT_FOUND, reason: 'TOKEN_MISSING', scope: 'a', challenge: undefined },
  ])('for $code, $reason and scope $scope is $challenge', ({ code, reason, scope, challenge }) => {
    expect(bearerChallenge(code, 'library', reason, scope)).toBe(challenge);
  });
});
