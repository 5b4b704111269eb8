import { generateKeyPairSync } from 'node:crypto';
import { Agent, get, type ServerResponse } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { KeySetServer } from '../auth/key-set-server.js';
import { requestOf } from '../support/requests.js';
import { runningService } from '../support/running-service.js';
import { create, metadataOf, tokenFor } from '../support/service.js';

const { privateKey: key, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const JWK = { ...publicKey.export({ format: 'jwk' }), kid: 'main' };
const GOOD = tokenFor({}, { key, algorithm: 'ES256', keyid: 'main' });

/** More than the calls that may be under way, and no more connections at once than a server's queue takes. */
const STRANGERS = 340;
const MAX_CALLS = '300';
/** How many calls may wait for an unknown key. */
const WAITING = 256;

/** The status and the pause of a response. */
function statusOf(url: string, token: string, agent: Agent): Promise<{ status: unknown; pause: unknown }> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      response.resume().on('end', () => {
        resolve({ status: response.statusCode, pause: response.headers['retry-after'] });
      });
    }).on('error', reject);
  });
}

it('more requests with unknown keys than may be under way, while the issuer is silent, take no get of another caller', async () => {
  const issuer = await KeySetServer.start(JWK);
  onTestFinished(() => issuer.stop());
  let monotonicMs = 0;
  const settings = { JWT_SECRET: '', JWT_JWKS_URL: issuer.url, MAX_CALLS };
  const service = await runningService({ settings, dependencies: { monotonic: () => monotonicMs } });
  const { route } = await create(service.client, requestOf(), metadataOf(GOOD));
  const tokens = Array.from({ length: STRANGERS }, (_, index) =>
    tokenFor({}, { key, algorithm: 'ES256', keyid: `unknown-${index}` }),
  );
  const held: ServerResponse[] = [];
  issuer.answer((_, response) => held.push(response));
  // A fetch may be asked for again.
  monotonicMs += 60_000;

  const url = `${service.httpUrl}/v1/routing/${route?.id ?? ''}`;
  const strange = new Agent();
  const honest = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => {
    honest.destroy();
  });
  const ended: { status: unknown; pause: unknown }[] = [];
  const strangers = tokens.map(async (token, index) => {
    // Every second one asks the guard alone, since its query cannot become a call.
    ended.push(await statusOf(index % 2 === 0 ? url : `${url}?unknown=1`, token, strange));
  });
  const gets: unknown[] = [];
  const getRoute = async (): Promise<void> => {
    gets.push((await statusOf(url, GOOD, honest)).status);
  };
  while (ended.length < STRANGERS - WAITING) await getRoute();
  for (let count = 0; count < 20; count++) await getRoute();
  for (const response of held) response.end(JSON.stringify({ keys: [JWK] }));
  await Promise.all(strangers);

  expect(new Set(gets)).toEqual(new Set([200]));
  // Those that waited learn that their key is unknown, or after three seconds of silence that nobody knows.
  const refusals = new Set(ended.map(({ status, pause }) => `${String(status)} ${String(pause)}`));
  expect([...refusals].filter((refusal) => !['503 1', '401 undefined'].includes(refusal))).toEqual([]);
  expect(ended.length).toBe(STRANGERS);
  expect(held).toHaveLength(1);
});
