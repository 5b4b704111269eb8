import { describe, expect, it } from 'vitest';
import { bearerChallenge } from '../../src/failures/error-reply.js';
import { Code } from '../../src/gen/google/rpc/code_pb.js';

const bare = 'Bearer realm="library"';

describe('a bearer challenge', () => {
  it.each([
    [Code.UNAUTHENTICATED, 'TOKEN_MISSING', undefined, bare],
    [Code.UNAUTHENTICATED, 'TOKEN_INVALID', undefined, `${bare}, error="invalid_token"`],
    [Code.UNAUTHENTICATED, undefined, undefined, `${bare}, error="invalid_token"`],
    [Code.PERMISSION_DENIED, 'SCOPE_MISSING', 'a:b c', `${bare}, error="insufficient_scope", scope="a:b c"`],
    [Code.PERMISSION_DENIED, 'SCOPE_MISSING', undefined, undefined],
    [Code.PERMISSION_DENIED, 'SCOPE_MISSING', 'a", x="', undefined],
    [Code.PERMISSION_DENIED, 'SCOPE_MISSING', 'a\r\nb', undefined],
    [Code.NOT_FOUND, 'TOKEN_MISSING', 'a', undefined],
  ])('for %s, %s and scope %s is %s', (code, reason, scope, challenge) => {
    expect(bearerChallenge(code, 'library', reason, scope)).toBe(challenge);
  });
});
