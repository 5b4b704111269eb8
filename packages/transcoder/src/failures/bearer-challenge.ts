import { Code } from '../gen/google/rpc/code_pb.js';

// RFC 6749 3.3, as RFC 6750 3 requires: scope tokens separated by single spaces.
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;

/**
 * The `WWW-Authenticate` header of a refusal (RFC 6750 3).
 *
 * @param reason the reason of its `google.rpc.ErrorInfo`; for `TOKEN_MISSING`, the challenge has no `error`.
 * @param scope the scope that the call requires, from the metadata of its `google.rpc.ErrorInfo`.
 * @returns undefined if the refusal is not about the token.
 */
export function bearerChallenge(
  code: Code,
  realm: string,
  reason: unknown,
  scope: unknown,
): string | undefined {
  const challenge = `Bearer realm="${realm}"`;
  if (code === Code.UNAUTHENTICATED) {
    return reason === 'TOKEN_MISSING' ? challenge : `${challenge}, error="invalid_token"`;
  }
  if (code !== Code.PERMISSION_DENIED || typeof scope !== 'string' || !SCOPE.test(scope)) return undefined;
  return `${challenge}, error="insufficient_scope", scope="${scope}"`;
}
