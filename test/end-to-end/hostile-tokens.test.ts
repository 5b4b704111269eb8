import { createSecretKey, generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { errorOf, httpRequest } from '../../packages/transcoder/test/support/http-request.js';
import { CreateRouteRequest } from '../../src/gen/routing/v1/route_service.js';
import { readDatabase } from '../../src/settings/config.js';
import { openDatabase } from '../../src/store/database.js';
import { KeySetServer } from '../auth/key-set-server.js';
import { badClaims } from '../support/bad-claims.js';
import { type Database, engines } from '../support/engines.js';
import { forgedTokens, signedBy, type TrustedSigner } from '../support/forged-tokens.js';
import { callRaw, framed } from '../support/http2-call.js';
import { errorInfoOf, richErrorOfReply } from '../support/rich-error.js';
import { type Service, SERVICE_SETTINGS, startService } from '../support/service.js';
import { refusalOfTwoTokens } from '../support/two-tokens.js';

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
const EC = generateKeyPairSync('ec', { namedCurve: 'P-256' });
// As an object, since the declared type of saltLength is not what Node accepts.
const SHA_256: object = { hashAlgorithm: 'sha256', mgf1HashAlgorithm: 'sha256', saltLength: 32 };
const PSS = generateKeyPairSync('rsa-pss', { modulusLength: 2048, ...SHA_256 });
const SECRET = createSecretKey(Buffer.from(SERVICE_SETTINGS.JWT_SECRET));

/** The engine makes no difference here. */
const [EMBEDDED] = engines;

type Settings = Record<string, string>;

function pemFile(name: string, key: KeyObject): Settings {
  const file = join(inject('temporaryFolder'), `hostile-${name}.pem`);
  writeFileSync(file, key.export({ type: 'spki', format: 'pem' }));
  return { JWT_SECRET: '', JWT_PUBLIC_KEY_FILE: file };
}

function jwk(key: KeyObject, kid: string): JsonWebKey {
  return { ...key.export({ format: 'jwk' }), kid };
}

const TRUSTED: { kind: string; signer: TrustedSigner; settings: (keySet: KeySetServer) => Settings }[] = [
  { kind: 'a secret', signer: { alg: 'HS256', key: SECRET, header: {} }, settings: () => ({}) },
  {
    kind: 'an RSA key',
    signer: { alg: 'RS256', key: RSA.privateKey, publicKey: RSA.publicKey, header: {} },
    settings: () => pemFile('rsa', RSA.publicKey),
  },
  {
    kind: 'an RSA-PSS key',
    signer: { alg: 'PS256', key: PSS.privateKey, publicKey: PSS.publicKey, header: {} },
    settings: () => pemFile('pss', PSS.publicKey),
  },
  {
    kind: 'an EC key',
    signer: { alg: 'ES256', key: EC.privateKey, publicKey: EC.publicKey, header: {} },
    settings: () => pemFile('ec', EC.publicKey),
  },
  {
    kind: 'the RSA key of a set',
    signer: { alg: 'RS256', key: RSA.privateKey, publicKey: RSA.publicKey, header: { kid: 'main' } },
    settings: ({ url }) => ({ JWT_SECRET: '', JWT_JWKS_URL: url }),
  },
  {
    kind: 'the EC key of a set',
    signer: { alg: 'ES256', key: EC.privateKey, publicKey: EC.publicKey, header: { kid: 'ec' } },
    settings: ({ url }) => ({ JWT_SECRET: '', JWT_JWKS_URL: url }),
  },
];

describe.each(TRUSTED)('where $kind is trusted', ({ signer, settings }) => {
  let keySet: KeySetServer;
  let database: Database;
  let service: Service;
  let accepted = 0;

  beforeAll(async () => {
    keySet = await KeySetServer.start(jwk(RSA.publicKey, 'main'), jwk(EC.publicKey, 'ec'));
    database = await EMBEDDED.createDatabase();
    service = await startService({ databaseUrl: database.url, settings: settings(keySet) });
  });

  /** Nothing but the creates that were accepted is stored. */
  afterAll(async () => {
    const knex = openDatabase(readDatabase({ DATABASE_URL: database.url }));
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

  async function expectRefused(authorization: string): Promise<void> {
    const [grpc, rest] = await Promise.all([overGrpc(authorization), overRest(authorization)]);
    const error = richErrorOfReply(grpc);
    expect(error).toMatchObject({ status: 'UNAUTHENTICATED' });
    expect(errorInfoOf(error).reason).toMatch(/^TOKEN_/);
    expect(rest.status).toBe(401);
    expect(errorOf(rest)).toMatchObject({ status: error.status, message: error.message });
  }

  async function expectAccepted(authorization: string): Promise<void> {
    const [grpc, rest] = await Promise.all([overGrpc(authorization), overRest(authorization)]);
    expect(grpc.code).toBe(status.OK);
    expect(rest.status).toBe(201);
    accepted += 2;
  }

  it.each([
    ['an honest token', `Bearer ${signedBy(signer, CLAIMS)}`],
    ['an honest token after the scheme in other letters', `bEARER ${signedBy(signer, CLAIMS)}`],
    ['a header that names a type', `Bearer ${signedBy(signer, CLAIMS, { typ: 'at+jwt' })}`],
    ['members that mean nothing', `Bearer ${signedBy(signer, CLAIMS, { x5t: 'A', constructor: 1 })}`],
  ])('%s is accepted', async (_, authorization) => {
    await expectAccepted(authorization);
  });

  it.each(forgedTokens(signer, CLAIMS))('a forged token is refused: $title', async ({ token }) => {
    await expectRefused(`Bearer ${token}`);
  });

  it.each(badClaims(CLAIMS, NOW))('a signed token is refused for its claims: $title', async ({ claims }) => {
    await expectRefused(`Bearer ${signedBy(signer, claims)}`);
  });

  const good = signedBy(signer, CLAIMS);
  it.each([
    ['no scheme', good],
    ['another scheme', `Basic ${good}`],
    ['the scheme without its space', `Bearer${good}`],
    ['a tab for the space', `Bearer\t${good}`],
    ['a list of the token and another', `Bearer ${good}, Bearer bad`],
    ['a list of another and the token', `Bearer bad, Bearer ${good}`],
    ['a list of the token twice', `Bearer ${good},Bearer ${good}`],
    ['the token before a comma', `Bearer ${good},`],
    ['the token in quotes', `Bearer "${good}"`],
    ['the token as a parameter', `Bearer token="${good}"`],
    ['the token twice', `Bearer ${good} ${good}`],
    ['the token with a space inside', `Bearer ${good.slice(0, 20)} ${good.slice(20)}`],
    ['the scheme alone', 'Bearer'],
    ['the token behind another scheme', `Basic x, Bearer ${good}`],
    ['the token in percent-encoding', `Bearer ${good.replaceAll('.', '%2E')}`],
    ['more than 8,192 bytes', `Bearer ${signedBy(signer, { ...CLAIMS, padding: 'x'.repeat(6_200) })}`],
  ])('a good token is refused with %s', async (_, authorization) => {
    await expectRefused(authorization);
  });

  it.each([
    ['good ones', good, good],
    ['a good one after a bad one', 'bad', good],
    ['a bad one after a good one', good, 'bad'],
  ])('two authorization headers are refused: %s', async (_, one, other) => {
    const rest = await overRest([`Bearer ${one}`, `Bearer ${other}`]);
    expect(rest.status).toBe(401);
    const tokens = [one, other] as const;
    const reason = await refusalOfTwoTokens(service, { path: CREATE, body: MESSAGE, tokens });
    expect(reason).toBe('TOKEN_INVALID');
  });
});

const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

describe('the twin of an ECDSA signature', () => {
  it('says the same, and is as valid (RFC 7518, section 3.4, asks for neither half)', async () => {
    const database = await EMBEDDED.createDatabase();
    const service = await startService({
      databaseUrl: database.url,
      settings: pemFile('twin', EC.publicKey),
    });
    const [header = '', payload = '', signature = ''] = signedBy(
      { alg: 'ES256', key: EC.privateKey, header: {} },
      CLAIMS,
    ).split('.');
    const bytes = Buffer.from(signature, 'base64url');
    const s = BigInt(`0x${bytes.subarray(32).toString('hex')}`);
    const twin = Buffer.from((ORDER - s).toString(16).padStart(64, '0'), 'hex');
    const token = `${header}.${payload}.${Buffer.concat([bytes.subarray(0, 32), twin]).toString('base64url')}`;
    const { code } = await callRaw(
      service.grpcAddress,
      CREATE,
      { authorization: `Bearer ${token}` },
      MESSAGE,
    );
    expect(code).toBe(status.OK);
    await service.close();
    await database.drop();
  });
});
