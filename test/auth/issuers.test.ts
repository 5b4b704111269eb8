import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import jwt, { type Algorithm } from 'jsonwebtoken';
import { describe, expect, it } from 'vitest';
import type { AuthResult, Caller } from '../../src/auth/auth-result.js';
import { createAuthenticator } from '../../src/auth/authenticator.js';
import { readTokens } from '../../src/settings/config.js';
import { invalid } from './secret-authenticator.js';

const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const KEYS = {
  RS256: RSA,
  PS256: RSA,
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ES384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  ES512: generateKeyPairSync('ec', { namedCurve: 'P-521' }),
} as const satisfies Partial<Record<Algorithm, { privateKey: KeyObject; publicKey: KeyObject }>>;

const ISSUER = 'https://issuer.example';
const AUDIENCE = 'https://api.example';
const READ = 'routes:read';
const WRITE = 'routes:write';

/** The tokens that an issuer signs by default, and the settings with which they are taken. */
interface IssuerCase {
  readonly by: string;
  /** Besides `JWT_JWKS_URL`, `JWT_ISSUER` and `JWT_AUDIENCE`. */
  readonly settings?: Readonly<Record<string, string>>;
  /**
   * The claims of a token with these scopes, besides `exp` and `iat`. They override the defaults of `iss`, `sub` and `aud`
   * (`tokenOf`); undefined leaves a claim out.
   */
  readonly claims: (scopes: string[]) => object;
  /** Default: RS256. */
  readonly alg?: keyof typeof KEYS;
  /** Default: `JWT`. */
  readonly typ?: string;
}

const ISSUERS: readonly IssuerCase[] = [
  { by: 'Auth0 for machines', claims: (scopes) => ({ scope: scopes.join(' '), gty: 'client-credentials' }) },
  {
    by: 'Auth0 with RBAC',
    settings: { JWT_SCOPE_CLAIMS: 'permissions' },
    claims: (permissions) => ({
      aud: [AUDIENCE, 'https://tenant.auth0.example/userinfo'],
      scope: 'openid profile',
      permissions,
    }),
  },
  {
    by: 'Okta',
    claims: (scp) => ({ ver: 1, cid: 'client', scp }),
  },
  {
    by: 'Ory Hydra',
    claims: (scp) => ({ aud: [AUDIENCE], client_id: 'client', ext: {}, scp }),
  },
  {
    by: 'Microsoft Entra for users',
    claims: (scopes) => ({ scp: scopes.join(' '), ver: '2.0', tid: 'tenant' }),
  },
  {
    by: 'Microsoft Entra for applications',
    settings: {
      JWT_SCOPE_CLAIMS: 'scp,roles',
      JWT_READ_SCOPE: 'Routes.Read.All',
      JWT_WRITE_SCOPE: 'Routes.Write.All',
    },
    claims: (scopes) => ({
      idtyp: 'app',
      roles: scopes.map((scope) => ({ [READ]: 'Routes.Read.All', [WRITE]: 'Routes.Write.All' })[scope]),
    }),
  },
  {
    by: 'Keycloak with scopes',
    claims: (scopes) => ({
      aud: [AUDIENCE, 'account'],
      azp: 'client',
      scope: ['profile', 'email', ...scopes].join(' '),
      realm_access: { roles: ['offline_access'] },
    }),
  },
  {
    by: 'Keycloak with roles of the realm',
    settings: { JWT_SCOPE_CLAIMS: '/realm_access/roles' },
    claims: (scopes) => ({ scope: 'profile email', realm_access: { roles: ['offline_access', ...scopes] } }),
  },
  {
    by: 'Keycloak with roles of a client',
    settings: { JWT_SCOPE_CLAIMS: '/resource_access/route.registry~1v1/roles' },
    claims: (roles) => ({
      scope: 'profile email',
      resource_access: { account: { roles: ['view-profile'] }, 'route.registry/v1': { roles } },
    }),
  },
  {
    by: 'Amazon Cognito',
    settings: {
      JWT_AUDIENCE: 'client-1,client-2',
      JWT_AUDIENCE_CLAIM: 'client_id',
      JWT_READ_SCOPE: 'https://api.example/routes:read',
      JWT_WRITE_SCOPE: 'https://api.example/routes:write',
    },
    claims: (scopes) => ({
      aud: undefined,
      client_id: 'client-2',
      token_use: 'access',
      scope: scopes.map((scope) => `https://api.example/${scope}`).join(' '),
    }),
  },
  { by: 'Spring Authorization Server', claims: (scope) => ({ scope }) },
  { by: 'Duende IdentityServer', typ: 'at+jwt', claims: (scope) => ({ client_id: 'client', scope }) },
  { by: 'Cloud Foundry UAA', claims: (scope) => ({ aud: [AUDIENCE, 'uaa'], zid: 'uaa', scope }) },
  { by: 'SimpleIdServer', claims: (scope) => ({ scope, scp: null }) },
  { by: 'an issuer after RFC 9068', typ: 'at+jwt', claims: (scopes) => ({ scope: scopes.join(' ') }) },
  ...(['PS256', 'ES256', 'ES384', 'ES512'] as const).map((alg) => ({
    by: `an issuer with ${alg}`,
    alg,
    claims: (scopes: string[]) => ({ scope: scopes.join(' ') }),
  })),
];

/** The settings of a service that takes the tokens of an issuer, as the service reads them. */
function configOf({ settings }: IssuerCase): ReturnType<typeof readTokens> {
  return readTokens({
    JWT_JWKS_URL: `${ISSUER}/keys`,
    JWT_ISSUER: ISSUER,
    JWT_AUDIENCE: AUDIENCE,
    ...settings,
  });
}

/** A token that an issuer has signed. @param otherClaims override those of the issuer */
function tokenOf(
  { claims, alg = 'RS256', typ = 'JWT' }: IssuerCase,
  scopes: string[],
  otherClaims: object = {},
): string {
  const all = { iss: ISSUER, sub: 'client', aud: AUDIENCE, ...claims(scopes), ...otherClaims };
  // By JSON, so that claims that are undefined are left out.
  const payload = JSON.parse(JSON.stringify(all)) as object;
  return jwt.sign(payload, KEYS[alg].privateKey, {
    algorithm: alg,
    header: { alg, typ, kid: alg },
    expiresIn: 300,
  });
}

/** Judges a token by the settings for its issuer. */
function judge(issuer: IssuerCase, token: string): AuthResult | Promise<AuthResult> {
  const { publicKey } = KEYS[issuer.alg ?? 'RS256'];
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const authenticator = createAuthenticator({ ...configOf(issuer), key: { kind: 'publicKey', pem } });
  return authenticator.authenticate(`Bearer ${token}`);
}

/** The caller in a result. @throws Error with the refusal's message, if it is one */
function callerIn(result: AuthResult): Caller {
  if (!result.ok) throw new Error(result.message);
  return result.caller;
}

describe.each(ISSUERS)('a token of $by', (issuer) => {
  it.each([[[READ, WRITE]], [[READ]]])('permits what it has scopes for: %j', async (scopes) => {
    const { read, write } = configOf(issuer).scopes;
    const { scopes: granted } = callerIn(await judge(issuer, tokenOf(issuer, scopes)));
    expect([read, write].map((scope) => granted.has(scope))).toEqual([true, scopes.includes(WRITE)]);
  });

  it('for another audience is refused, whatever else it says', async () => {
    // The claim `aud` counts before any other that names the audience.
    const token = tokenOf(issuer, [READ, WRITE], { aud: 'https://other.example' });
    expect(await judge(issuer, token)).toEqual(invalid("The token's aud claim does not name this service."));
  });
});
