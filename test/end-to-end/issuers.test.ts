import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { status } from '@grpc/grpc-js';
import type { Algorithm } from 'jsonwebtoken';
import jwt from 'jsonwebtoken';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KeySetServer } from '../auth/key-set-server.js';
import { post, requestOf } from '../support/requests.js';
import { errorInfoOf, richErrorOfCall, richErrorOfResponse } from '../support/rich-error.js';
import { create, get, metadataOf, type Service, startService } from '../support/service.js';

const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const KEYS = {
  RS256: RSA,
  PS256: RSA,
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ES384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  ES512: generateKeyPairSync('ec', { namedCurve: 'P-521' }),
} as const satisfies Partial<Record<Algorithm, { privateKey: KeyObject; publicKey: KeyObject }>>;

const AUDIENCE = 'https://api.example';
const READ = 'routes:read';
const WRITE = 'routes:write';

/** The tokens that an issuer signs by default, and the settings with which the service takes them. */
interface Signed {
  readonly by: string;
  /** Besides `JWT_JWKS_URL`, `JWT_ISSUER` and `JWT_AUDIENCE`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The claims of a token with these scopes, besides `exp`, `iat` and, if they say nothing else, `iss`, `sub` and `aud`. */
  readonly claims: (scopes: string[]) => object;
  /** Default: RS256. */
  readonly alg?: keyof typeof KEYS;
  /** Default: `JWT`. */
  readonly typ?: string;
}

const ISSUERS: readonly Signed[] = [
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

let keySet: KeySetServer;

beforeAll(async () => {
  const members = Object.entries(KEYS).map(([kid, { publicKey }]) => ({
    ...publicKey.export({ format: 'jwk' }),
    kid,
    use: 'sig',
  }));
  keySet = await KeySetServer.start(...members);
});

/** The services, each for all issuers with the same settings. */
const services = new Map<string, Promise<Service>>();

afterAll(async () => {
  await Promise.all([...services.values()].map(async (service) => (await service).close()));
  await keySet.stop();
});

function serviceFor(issuer: Signed): Promise<Service> {
  const parties = { JWT_ISSUER: 'https://issuer.example', JWT_AUDIENCE: AUDIENCE };
  const settings = { JWT_SECRET: '', JWT_JWKS_URL: keySet.url, ...parties, ...issuer.settings };
  const key = JSON.stringify(settings);
  const service = services.get(key) ?? startService({ databaseUrl: 'sqlite::memory:', settings });
  services.set(key, service);
  return service;
}

function tokenOf(
  { claims, alg = 'RS256', typ = 'JWT' }: Signed,
  scopes: string[],
  more: object = {},
): string {
  const payload = {
    iss: 'https://issuer.example',
    sub: 'client',
    aud: AUDIENCE,
    exp: Math.floor(Date.now() / 1_000) + 300,
    ...claims(scopes),
    ...more,
  };
  const signed = Object.fromEntries(
    Object.entries<unknown>(payload).filter(([, value]) => value !== undefined),
  );
  return jwt.sign(signed, KEYS[alg].privateKey, { algorithm: alg, header: { alg, typ, kid: alg } });
}

describe.each(ISSUERS)('a token of $by', (issuer) => {
  it('permits what it has scopes for, over both protocols, and a refusal names the scope that is missing', async () => {
    const service = await serviceFor(issuer);
    const token = tokenOf(issuer, [READ, WRITE]);
    const { error, route } = await create(service.client, requestOf(), metadataOf(token));
    expect(error).toBeUndefined();
    expect((await post(service, undefined, { authorization: `Bearer ${token}` })).status).toBe(201);
    const reader = tokenOf(issuer, [READ]);
    expect((await get(service.client, route?.id ?? '', metadataOf(reader))).route).toEqual(route);
    const url = `${service.httpUrl}/v1/routing/${route?.id ?? ''}`;
    expect((await fetch(url, { headers: { authorization: `Bearer ${reader}` } })).status).toBe(200);
    const scope = issuer.settings?.['JWT_WRITE_SCOPE'] ?? WRITE;
    const refused = richErrorOfCall(await create(service.client, requestOf(), metadataOf(reader)));
    expect(refused).toMatchObject({
      status: 'PERMISSION_DENIED',
      message: `The token lacks the scope ${scope}.`,
    });
    expect(errorInfoOf(refused)).toMatchObject({ reason: 'SCOPE_MISSING', metadata: { scope } });
    const response = await post(service, undefined, { authorization: `Bearer ${reader}` });
    expect(response.status).toBe(403);
    expect(response.headers.get('www-authenticate')).toContain(`scope="${scope}"`);
    expect(errorInfoOf(await richErrorOfResponse(response))).toMatchObject({ metadata: { scope } });
  });

  it('for another audience is refused, whatever else it says', async () => {
    const service = await serviceFor(issuer);
    const token = tokenOf(issuer, [READ, WRITE], { aud: 'https://other.example' });
    const { error } = await create(service.client, requestOf(), metadataOf(token));
    expect(error).toMatchObject({
      code: status.UNAUTHENTICATED,
      details: "The token's aud claim does not name this service.",
    });
    expect((await post(service, undefined, { authorization: `Bearer ${token}` })).status).toBe(401);
  });
});

it('a token signed with EdDSA is refused, since it is not supported', async () => {
  const [issuer] = ISSUERS as [Signed];
  const service = await serviceFor(issuer);
  const [, ...rest] = tokenOf(issuer, [READ, WRITE]).split('.');
  const header = Buffer.from(JSON.stringify({ alg: 'EdDSA', kid: 'RS256' })).toString('base64url');
  const { error } = await create(service.client, requestOf(), metadataOf([header, ...rest].join('.')));
  expect(error).toMatchObject({
    code: status.UNAUTHENTICATED,
    details: "The token's alg is not allowed for the key.",
  });
});
