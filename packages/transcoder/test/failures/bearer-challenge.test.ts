import { describe, expect, it } from 'vitest';
import { bearerChallenge } from '../../src/failures/bearer-challenge.js';
import { Code } from '../../src/gen/google/rpc/code_pb.js';

const bare = 'Bearer realm="library"';

describe('a bearer challenge', () => {
  it.each([
    { code: Code.UNAUTHENTICATED, reason: 'TOKEN_MISSING', scope: undefined, challenge: bare },
    {
      code: Code.UNAUTHENTICATED,
      reason: 'TOKEN_INVALID',
      scope: undefined,
      challenge: `${bare}, error="invalid_token"`,
    },
    {
      code: Code.UNAUTHENTICATED,
      reason: undefined,
      scope: undefined,
      challenge: `${bare}, error="invalid_token"`,
    },
    {
      code: Code.PERMISSION_DENIED,
      reason: 'SCOPE_MISSING',
      scope: 'a:b c',
      challenge: `${bare}, error="insufficient_scope", scope="a:b c"`,
    },
    { code: Code.PERMISSION_DENIED, reason: 'SCOPE_MISSING', scope: undefined, challenge: undefined },
    { code: Code.PERMISSION_DENIED, reason: 'SCOPE_MISSING', scope: 'a", x="', challenge: undefined },
    { code: Code.PERMISSION_DENIED, reason: 'SCOPE_MISSING', scope: 'a\r\nb', challenge: undefined },
    { code: Code.NOT_FOUND, reason: 'TOKEN_MISSING', scope: 'a', challenge: undefined },
  ])('for $code, $reason and scope $scope is $challenge', ({ code, reason, scope, challenge }) => {
    expect(bearerChallenge(code, 'library', reason, scope)).toBe(challenge);
  });
});
