import { generateKeyPairSync } from 'node:crypto';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { errorOf, httpRequest } from '../../packages/transcoder/test/support/http-request.js';
import { CreateRouteRequest } from '../../src/gen/routing/v1/route_service.js';
import { KeySetServer } from '../auth/key-set-server.js';
import { callRaw, framed } from '../support/http2-call.js';
import { DEFINITION, requestOf } from '../support/requests.js';
import { errorInfoOf, richErrorOfReply } from '../support/rich-error.js';
import { type Service, startService, tokenFor } from '../support/service.js';

const { privateKey: key, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const { privateKey: otherKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const SIGNING = { key, algorithm: 'RS256', keyid: 'main' } as const;
const GOOD = tokenFor({}, SIGNING);

let keySet: KeySetServer;
let service: Service;

beforeAll(async () => {
  keySet = await KeySetServer.start({ ...publicKey.export({ format: 'jwk' }), kid: 'main' });
  const settings = { JWT_SECRET: '', JWT_JWKS_URL: keySet.url };
  service = await startService({ databaseUrl: 'sqlite::memory:', settings });
});

afterAll(async () => {
  await service.close();
  await keySet.stop();
});

function overGrpc(authorization: string) {
  const message = framed(CreateRouteRequest.encode(requestOf()).finish());
  return callRaw(service.grpcAddress, '/routing.v1.RouteService/CreateRoute', { authorization }, message);
}

function overRest(authorization: string | string[]) {
  const headers = { authorization: authorization as string, 'content-type': 'application/json' };
  const body = JSON.stringify(DEFINITION);
  return httpRequest(service.httpUrl, { method: 'POST', path: '/v1/routing', headers, body });
}

it('a token that a key of the set signed is accepted over both protocols', async () => {
  expect((await overGrpc(`Bearer ${GOOD}`)).code).toBe(status.OK);
  expect((await overRest(`Bearer ${GOOD}`)).status).toBe(201);
});

// `test/auth/hostile-tokens.test.ts` has every type of key and every forgery.
it("a token signed with the attacker's key is refused the same way over both protocols", async () => {
  const token = tokenFor({}, { ...SIGNING, key: otherKey });
  const [grpc, rest] = await Promise.all([overGrpc(`Bearer ${token}`), overRest(`Bearer ${token}`)]);
  const error = richErrorOfReply(grpc);
  expect(error).toMatchObject({ status: 'UNAUTHENTICATED' });
  expect(errorInfoOf(error).reason).toBe('TOKEN_INVALID');
  expect(rest.status).toBe(401);
  expect(errorOf(rest)).toMatchObject({ status: error.status, message: error.message });
});

it('two authorization headers are refused over REST, even if both are valid', async () => {
  const rest = await overRest([`Bearer ${GOOD}`, `Bearer ${GOOD}`]);
  expect(rest.status).toBe(401);
  expect(errorInfoOf(errorOf(rest)).reason).toBe('TOKEN_INVALID');
});
