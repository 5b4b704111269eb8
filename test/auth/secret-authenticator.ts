import { createSecretKey } from 'node:crypto';
import { createAuthenticator } from '../../src/auth/authenticator.js';
import { ACCEPTED, CLAIMS, type Header, NOW, type Part, signJwt } from './sign-jwt.js';

/** The shortest allowed secret. */
export const SECRET = 'thirty-two bytes, and none more.';
const KEY = createSecretKey(Buffer.from(SECRET));

/** An authenticator with {@link SECRET}, for {@link ACCEPTED}, whose clock stands at {@link NOW}. */
const authenticator = createAuthenticator({
  key: { kind: 'secrets', secrets: [SECRET] },
  ...ACCEPTED,
  now: () => NOW * 1000,
});

/** The authenticator's result for one token. */
export function judge(token: string) {
  return authenticator.authenticate(`Bearer ${token}`);
}

/** A token with a valid signature. */
export function signed(payload: Part = CLAIMS, header: Header = { alg: 'HS256', typ: 'JWT' }): string {
  return signJwt(KEY, header, payload);
}

/** The result for a token that is refused as invalid. */
export function invalid(message: string) {
  return { ok: false, reason: 'TOKEN_INVALID', message };
}
