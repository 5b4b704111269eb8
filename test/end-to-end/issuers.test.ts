import { generateKeyPairSync } from 'node:crypto';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { KeySetServer } from '../auth/key-set-server.js';
import { post, requestOf } from '../support/requests.js';
import { errorInfoOf, richErrorOfCall, richErrorOfResponse } from '../support/rich-error.js';
import { runningService } from '../support/running-service.js';
import { create, get, metadataOf, tokenFor } from '../support/service.js';

const { privateKey: key, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const AUDIENCE = 'https://api.example';
const READ = 'routes:read';
const WRITE = 'routes:write';

/** The access tokens of an issuer, and the settings with which the service takes them. */
interface Signed {
  readonly by: string;
  /** Besides `JWT_JWKS_URL`, `JWT_ISSUER` and `JWT_AUDIENCE`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The claims of a token with these scopes, besides `iss`, `sub`, `exp` and, if they say nothing else, `aud`. */
  readonly claims: (scopes: string[]) => object;
}

/** `test/auth/claims.test.ts` has every form of each claim. */
const ISSUERS: readonly Signed[] = [
  {
    by: 'Keycloak with scopes',
    claims: (scopes) => ({
      aud: [AUDIENCE, 'account'],
      scope: ['profile', 'email', ...scopes].join(' '),
      realm_access: { roles: ['offline_access'] },
    }),
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
    by: 'Microsoft Entra for applications',
    settings: {
      JWT_SCOPE_CLAIMS: 'scp,roles',
      JWT_READ_SCOPE: 'Routes.Read.All',
      JWT_WRITE_SCOPE: 'Routes.Write.All',
    },
    claims: (scopes) => ({
      roles: scopes.map((scope) => ({ [READ]: 'Routes.Read.All', [WRITE]: 'Routes.Write.All' })[scope]),
    }),
  },
  {
    by: 'Auth0 with RBAC',
    settings: { JWT_SCOPE_CLAIMS: 'permissions' },
    claims: (permissions) => ({ scope: 'openid profile', permissions }),
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
      scope: scopes.map((scope) => `https://api.example/${scope}`).join(' '),
    }),
  },
];

let keySet: KeySetServer;

beforeAll(async () => {
  keySet = await KeySetServer.start({ ...publicKey.export({ format: 'jwk' }), kid: 'main' });
});

afterAll(() => keySet.stop());

it.each(ISSUERS)(
  'a token of $by permits what it has scopes for, over both protocols, and is refused if it is for another audience',
  async ({ claims, settings = {} }) => {
    const parties = { JWT_ISSUER: 'https://issuer.example', JWT_AUDIENCE: AUDIENCE };
    const service = await runningService({
      settings: { JWT_SECRET: '', JWT_JWKS_URL: keySet.url, ...parties, ...settings },
    });
    const tokenWith = (scopes: string[], more: object = {}): string => {
      // The token has no claim that is undefined here.
      const own = { iss: parties.JWT_ISSUER, aud: AUDIENCE, scope: undefined, ...claims(scopes), ...more };
      return tokenFor(own, { key, algorithm: 'RS256', keyid: 'main' });
    };
    const both = tokenWith([READ, WRITE]);
    const { error, route } = await create(service.client, requestOf(), metadataOf(both));
    expect(error).toBeUndefined();
    expect((await post(service, undefined, { authorization: `Bearer ${both}` })).status).toBe(201);

    const reader = tokenWith([READ]);
    expect((await get(service.client, route?.id ?? '', metadataOf(reader))).route).toEqual(route);
    const url = `${service.httpUrl}/v1/routing/${route?.id ?? ''}`;
    expect((await fetch(url, { headers: { authorization: `Bearer ${reader}` } })).status).toBe(200);
    const scope = settings['JWT_WRITE_SCOPE'] ?? WRITE;
    const refused = richErrorOfCall(await create(service.client, requestOf(), metadataOf(reader)));
    expect(refused.message).toBe(`The token lacks the scope ${scope}.`);
    const response = await post(service, undefined, { authorization: `Bearer ${reader}` });
    expect(response.headers.get('www-authenticate')).toContain(`scope="${scope}"`);
    expect(errorInfoOf(await richErrorOfResponse(response))).toMatchObject({ metadata: { scope } });

    const foreign = metadataOf(tokenWith([READ, WRITE], { aud: 'https://other.example' }));
    expect((await create(service.client, requestOf(), foreign)).error).toMatchObject({
      code: status.UNAUTHENTICATED,
      details: "The token's aud claim does not name this service.",
    });
  },
);
