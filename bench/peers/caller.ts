import { createSecretKey } from 'node:crypto';
import jwt from 'jsonwebtoken';

/** The claims of a valid token that the peers use. */
export interface Caller {
  readonly sub: string;
  /** Scopes, separated by spaces. */
  readonly scope: string;
}

const { JWT_SECRET = '', JWT_ISSUER = '', JWT_AUDIENCE = '' } = process.env;
// Not a string: jsonwebtoken would try to parse it as a public key first, for every token.
const KEY = createSecretKey(Buffer.from(JWT_SECRET));

/**
 * Verifies the token of an `authorization` header with the settings of the service.
 *
 * @throws Error when there is no valid token
 */
export function callerOf(header: string | undefined): Caller {
  const [, token = ''] = /^Bearer (.+)$/.exec(header ?? '') ?? [];
  return jwt.verify(token, KEY, {
    algorithms: ['HS256'],
    issuer: JWT_ISSUER,
    audience: JWT_AUDIENCE,
  }) as Caller & jwt.JwtPayload;
}

/** Whether the caller has this scope. */
export function may(caller: Caller, scope: string): boolean {
  return caller.scope.split(' ').includes(scope);
}
