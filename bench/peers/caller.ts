import { createSecretKey } from 'node:crypto';
import jwt from 'jsonwebtoken';

/** The claims of a good token that a peer uses. */
export interface Caller {
  readonly sub: string;
  /** The scopes, separated by blanks. */
  readonly scope: string;
}

const { JWT_SECRET = '', JWT_ISSUER = '', JWT_AUDIENCE = '' } = process.env;
// jsonwebtoken tries a string as a public key first, for every token.
const KEY = createSecretKey(Buffer.from(JWT_SECRET));

/**
 * The caller that an `authorization` header names, with the settings of the service.
 *
 * @throws Error when it holds no good token
 */
export function callerOf(header: string | undefined): Caller {
  const [, token = ''] = /^Bearer (.+)$/.exec(header ?? '') ?? [];
  return jwt.verify(token, KEY, {
    algorithms: ['HS256'],
    issuer: JWT_ISSUER,
    audience: JWT_AUDIENCE,
  }) as Caller & jwt.JwtPayload;
}

/** Whether the caller may do what needs this scope. */
export function may(caller: Caller, scope: string): boolean {
  return caller.scope.split(' ').includes(scope);
}
