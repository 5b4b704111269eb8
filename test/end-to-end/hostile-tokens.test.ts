import { createSecretKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { errorOf, httpRequest } from '../../packages/transcoder/test/support/http-request.js';
import { CreateRouteRequest } from '../../src/gen/routing/v1/route_service.js';
import { parseDatabaseUrl } from '../../src/settings/database-url.js';
import { openDatabase } from '../../src/store/database.js';
import { signedBy, type TrustedSigner } from '../auth/forged-tokens.js';
import { KeySetServer } from '../auth/key-set-server.js';
import { compact, signJwt } from '../auth/sign-jwt.js';
import { type Database, engines } from '../support/engines.js';
import { callRaw, framed } from '../support/http2-call.js';
import { errorInfoOf, richErrorOfReply } from '../support/rich-error.js';
import { type Service, SERVICE_SETTINGS, startService } from '../support/service.js';

const CREATE = '/routing.v1.RouteService/CreateRoute';
const ROUTE = { method: 'GET', path: '/', middleware: [], handler: 'h' };
const MESSAGE = framed(
  CreateRouteRequest.encode({
    route: { ...ROUTE, id: '', createdAt: undefined },
    requestId: '',
    validateOnly: false,
  }).finish(),
);
const NOW = Math.floor(Date.now() / 1_000);
const CLAIMS = {
  iss: SERVICE_SETTINGS.JWT_ISSUER,
  aud: SERVICE_SETTINGS.JWT_AUDIENCE,
  sub: 'alice',
  exp: NOW + 3_600,
  scope: 'routes:read routes:write',
};

const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PUBLIC_PEM = RSA.publicKey.export({ type: 'spki', format: 'pem' });
const SECRET = createSecretKey(Buffer.from(SERVICE_SETTINGS.JWT_SECRET));
const ATTACKER = generateKeyPairSync('rsa', { modulusLength: 2048 });

/** The engine makes no difference here. */
const [EMBEDDED] = engines;

type Settings = Record<string, string>;

function pemFile(key: KeyObject): Settings {
  const file = join(inject('temporaryFolder'), 'hostile-tokens.pem');
  writeFileSync(file, key.export({ type: 'spki', format: 'pem' }));
  return { JWT_SECRET: '', JWT_PUBLIC_KEY_FILE: file };
}

/** Each way to configure keys. `test/auth/hostile-tokens.test.ts` covers every type of key and every forgery. */
const TRUSTED: { kind: string; signer: TrustedSigner; settings: (keySet: KeySetServer) => Settings }[] = [
  { kind: 'a secret', signer: { alg: 'HS256', key: SECRET, header: {} }, settings: () => ({}) },
  {
    kind: 'a public key',
    signer: { alg: 'RS256', key: RSA.privateKey, header: {} },
    settings: () => pemFile(RSA.publicKey),
  },
  {
    kind: 'a set of keys',
    signer: { alg: 'RS256', key: RSA.privateKey, header: { kid: 'main' } },
    settings: ({ url }) => ({ JWT_SECRET: '', JWT_JWKS_URL: url }),
  },
  {
    kind: 'the only key of a set, without kid in the token,',
    signer: { alg: 'RS256', key: RSA.privateKey, header: {} },
    settings: ({ url }) => ({ JWT_SECRET: '', JWT_JWKS_URL: url }),
  },
];

describe.each(TRUSTED)('when $kind is trusted', ({ signer, settings }) => {
  let keySet: KeySetServer;
  let database: Database;
  let service: Service;
  let accepted = 0;

  beforeAll(async () => {
    keySet = await KeySetServer.start({ ...RSA.publicKey.export({ format: 'jwk' }), kid: 'main' });
    database = await EMBEDDED.createDatabase();
    service = await startService({ databaseUrl: database.url, settings: settings(keySet) });
  });

  /** Checks that only the accepted creates are stored. */
  afterAll(async () => {
    const knex = openDatabase(parseDatabaseUrl(database.url));
    const [stored] = await knex('routes').count({ routes: '*' });
    await knex.destroy();
    await service.close();
    await keySet.stop();
    await database.drop();
    expect(stored).toEqual({ routes: accepted });
  });

  function overGrpc(authorization: string) {
    return callRaw(service.grpcAddress, CREATE, { authorization }, MESSAGE);
  }

  function overRest(authorization: string | string[]) {
    const headers = { authorization: authorization as string, 'content-type': 'application/json' };
    return httpRequest(service.httpUrl, {
      method: 'POST',
      path: '/v1/routing',
      headers,
      body: JSON.stringify(ROUTE),
    });
  }

  it('a valid token is accepted', async () => {
    const authorization = `Bearer ${signedBy(signer, CLAIMS)}`;
    const [grpc, rest] = await Promise.all([overGrpc(authorization), overRest(authorization)]);
    expect(grpc.code).toBe(status.OK);
    expect(rest.status).toBe(201);
    accepted += 2;
  });

  const good = signedBy(signer, CLAIMS);
  it.each([
    ['unsigned', `Bearer ${compact({ ...signer.header, alg: 'none' }, CLAIMS)}`],
    [
      "signed with the attacker's key",
      `Bearer ${signJwt(ATTACKER.privateKey, { ...signer.header, alg: 'RS256' }, CLAIMS)}`,
    ],
    [
      'signed with the public key as the secret',
      `Bearer ${signJwt(createSecretKey(Buffer.from(PUBLIC_PEM)), { ...signer.header, alg: 'HS256' }, CLAIMS)}`,
    ],
    ['for another audience', `Bearer ${signedBy(signer, { ...CLAIMS, aud: 'other' })}`],
    ['that has expired', `Bearer ${signedBy(signer, { ...CLAIMS, exp: NOW - 60 })}`],
    ['in a list with another token', `Bearer ${good}, Bearer bad`],
    ['of more than 8,192 bytes', `Bearer ${signedBy(signer, { ...CLAIMS, padding: 'x'.repeat(6_200) })}`],
  ])('a token %s is refused the same way over both protocols', async (_, authorization) => {
    const [grpc, rest] = await Promise.all([overGrpc(authorization), overRest(authorization)]);
    const error = richErrorOfReply(grpc);
    expect(error).toMatchObject({ status: 'UNAUTHENTICATED' });
    expect(errorInfoOf(error).reason).toMatch(/^TOKEN_/);
    expect(rest.status).toBe(401);
    expect(errorOf(rest)).toMatchObject({ status: error.status, message: error.message });
  });

  it.each([
    ['both valid', good, good],
    ['a valid one after an invalid one', 'bad', good],
    ['an invalid one after a valid one', good, 'bad'],
  ])('two authorization headers are refused over REST: %s', async (_, one, other) => {
    const rest = await overRest([`Bearer ${one}`, `Bearer ${other}`]);
    expect(rest.status).toBe(401);
    expect(errorInfoOf(errorOf(rest)).reason).toBe('TOKEN_INVALID');
  });
});
