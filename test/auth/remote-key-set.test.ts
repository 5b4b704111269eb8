import { createSecretKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { RequestListener, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { RemoteKeySet } from '../../src/auth/remote-key-set.js';
import type { Header } from './sign-jwt.js';
import { jwk, TestIssuer } from './test-issuer.js';

const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const NEXT_RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const P_256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });

const UNKNOWN_KID = "The token's kid names no key of the issuer.";
const AMBIGUOUS = 'The token has no kid, and several keys of the issuer fit its alg.';
const UNAVAILABLE = 'The keys that verify tokens are unavailable. Try again.';

const RSA_JWK = jwk(RSA.publicKey, { kid: 'rsa' });
const NEXT_RSA_JWK = jwk(NEXT_RSA.publicKey, { kid: 'next' });
const EC_JWK = jwk(P_256.publicKey, { kid: 'ec' });

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

const judgeRsa = (issuer: TestIssuer) => issuer.judge(RSA.privateKey, { alg: 'RS256', kid: 'rsa' });
const judgeEc = (issuer: TestIssuer) => issuer.judge(P_256.privateKey, { alg: 'ES256', kid: 'ec' });
/** Judges a token without `kid`. */
const judgeNameless = (issuer: TestIssuer, key: KeyObject = RSA.privateKey, alg: Header['alg'] = 'RS256') =>
  issuer.judge(key, { alg });
const judgeUnknown = (issuer: TestIssuer) =>
  issuer.judge(RSA.privateKey, { alg: 'RS256', kid: crypto.randomUUID() });

/** Keeps every request for the keys waiting, and resolves with the response to the first. */
function holdFetches({ server }: TestIssuer): Promise<ServerResponse> {
  return new Promise((resolve) => {
    server.answer((_, response) => {
      resolve(response);
    });
  });
}

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('the key set', () => {
  it('is fetched at the start, before any token comes', async () => {
    const { server } = await TestIssuer.start(RSA_JWK);
    expect(server.requests).toBe(1);
  });

  it('is fetched once for the tokens that come meanwhile', async () => {
    const issuer = await TestIssuer.startUnfetched({ keys: [RSA_JWK] });
    issuer.keySet.start();
    const judged = await Promise.all([judgeRsa(issuer), judgeRsa(issuer), judgeRsa(issuer)]);
    expect(judged).toMatchObject([{ ok: true }, { ok: true }, { ok: true }]);
    expect(issuer.server.requests).toBe(1);
  });

  it('is fetched again every five minutes, without any token', async () => {
    const issuer = await TestIssuer.start(RSA_JWK);
    await issuer.pass(5 * MINUTE_MS - 1);
    expect(issuer.server.requests).toBe(1);
    await issuer.pass(1);
    expect(issuer.server.requests).toBe(2);
    await issuer.pass(5 * MINUTE_MS);
    expect(issuer.server.requests).toBe(3);
  });

  it('is fetched directly even if the environment names a proxy', async () => {
    vi.stubEnv('http_proxy', 'http://127.0.0.1:9');
    vi.stubEnv('HTTP_PROXY', 'http://127.0.0.1:9');
    expect(await judgeRsa(await TestIssuer.start(RSA_JWK))).toMatchObject({ ok: true });
  });

  it('is not fetched for a token that no key could verify', async () => {
    const issuer = await TestIssuer.startUnfetched({ keys: [RSA_JWK] });
    const secret = createSecretKey(Buffer.alloc(32, 'k'));
    await issuer.judge(secret, { alg: 'HS256', kid: 'rsa' });
    await issuer.judge(RSA.privateKey, { alg: 'RS256', kid: 1 });
    await issuer.authenticator.authenticate('Bearer abc');
    expect(issuer.server.requests).toBe(0);
  });

  it('is fetched again for a kid that was published later, but not within a minute', async () => {
    const issuer = await TestIssuer.start(RSA_JWK);
    issuer.server.publish(EC_JWK);
    issuer.time.pass(MINUTE_MS - 1);
    expect(await judgeEc(issuer)).toMatchObject({ reason: 'TOKEN_INVALID', message: UNKNOWN_KID });
    issuer.time.pass(1);
    expect(await judgeEc(issuer)).toMatchObject({ ok: true });
    expect(issuer.server.requests).toBe(2);
  });

  it('is fetched five minutes after a fetch that a token has caused', async () => {
    const issuer = await TestIssuer.start(RSA_JWK);
    issuer.time.pass(4 * MINUTE_MS);
    await judgeUnknown(issuer);
    await issuer.pass(5 * MINUTE_MS - 1);
    expect(issuer.server.requests).toBe(2);
    await issuer.pass(1);
    expect(issuer.server.requests).toBe(3);
  });

  it('is not fetched after it is closed, even if a fetch was under way', async () => {
    const issuer = await TestIssuer.start(RSA_JWK);
    const arrived = holdFetches(issuer);
    issuer.time.pass(5 * MINUTE_MS);
    const response = await arrived;
    issuer.keySet.close();
    response.end(JSON.stringify({ keys: [EC_JWK] }));
    // The set is there once its key is known.
    await vi.waitFor(async () => {
      expect(await judgeEc(issuer)).toMatchObject({ ok: true });
    });
    issuer.time.pass(10 * MINUTE_MS);
    expect(issuer.server.requests).toBe(2);
  });
});

describe('a call whose key is known never waits', () => {
  it('after eleven minutes without calls', async () => {
    const issuer = await TestIssuer.start(RSA_JWK);
    void holdFetches(issuer);
    issuer.time.pass(11 * MINUTE_MS);
    // More than may wait.
    for (let count = 0; count < 300; count++) expect(await judgeRsa(issuer)).toMatchObject({ ok: true });
  });

  it('while others, whose keys are unknown or ambiguous, wait for a fetch', async () => {
    const issuer = await TestIssuer.start(RSA_JWK, NEXT_RSA_JWK, EC_JWK);
    const arrived = holdFetches(issuer);
    issuer.time.pass(MINUTE_MS);
    const waiting = [judgeNameless(issuer), judgeUnknown(issuer)];
    const response = await arrived;
    expect(await judgeRsa(issuer)).toMatchObject({ ok: true });
    expect(await judgeNameless(issuer, P_256.privateKey, 'ES256')).toMatchObject({ ok: true });
    response.end(JSON.stringify({ keys: [RSA_JWK] }));
    expect(await Promise.all(waiting.map((result) => Promise.resolve(result)))).toMatchObject([
      { ok: true },
      { message: UNKNOWN_KID },
    ]);
  });

  it('while a fetch fails that others have caused', async () => {
    const issuer = await TestIssuer.start(RSA_JWK, NEXT_RSA_JWK, EC_JWK);
    await issuer.server.stop();
    issuer.time.pass(MINUTE_MS);
    expect(await judgeNameless(issuer)).toMatchObject({ reason: 'KEYS_UNAVAILABLE', message: UNAVAILABLE });
    expect(await judgeRsa(issuer)).toMatchObject({ ok: true });
    expect(await judgeNameless(issuer, P_256.privateKey, 'ES256')).toMatchObject({ ok: true });
  });
});

describe('callers whose key is unknown or ambiguous', () => {
  it('cause one fetch a minute, all together', async () => {
    const issuer = await TestIssuer.start(RSA_JWK, NEXT_RSA_JWK);
    issuer.time.pass(MINUTE_MS);
    for (let count = 0; count < 20; count++) {
      expect(await judgeNameless(issuer)).toMatchObject({ message: AMBIGUOUS });
      expect(await judgeNameless(issuer, P_256.privateKey, 'ES256')).toMatchObject({
        message: 'The issuer has no key for the alg of the token.',
      });
      expect(await judgeUnknown(issuer)).toMatchObject({ message: UNKNOWN_KID });
    }
    expect(issuer.server.requests).toBe(2);
    issuer.time.pass(MINUTE_MS);
    await Promise.all(Array.from({ length: 200 }, async () => judgeNameless(issuer)));
    expect(issuer.server.requests).toBe(3);
  });

  it('cause no fetch by forged signatures, whatever they try', async () => {
    const issuer = await TestIssuer.start(RSA_JWK);
    issuer.time.pass(MINUTE_MS);
    for (let count = 0; count < 20; count++)
      expect(await judgeNameless(issuer, NEXT_RSA.privateKey)).toMatchObject({ reason: 'TOKEN_INVALID' });
    expect(issuer.server.requests).toBe(1);
  });

  it('wait 256 at once, and further ones are refused at once', async () => {
    const issuer = await TestIssuer.start(RSA_JWK);
    const arrived = holdFetches(issuer);
    issuer.time.pass(MINUTE_MS);
    const waiting = Array.from({ length: 256 }, async () => judgeUnknown(issuer));
    const response = await arrived;
    for (let count = 0; count < 20; count++)
      expect(await judgeUnknown(issuer)).toEqual({
        ok: false,
        reason: 'KEYS_UNAVAILABLE',
        message: 'Too many calls wait for the keys that verify tokens. Try again.',
        cause: undefined,
      });
    expect(await judgeRsa(issuer)).toMatchObject({ ok: true });
    response.end(JSON.stringify({ keys: [RSA_JWK] }));
    for (const result of await Promise.all(waiting.map((found) => Promise.resolve(found))))
      expect(result).toMatchObject({ message: UNKNOWN_KID });
    const next = holdFetches(issuer);
    issuer.time.pass(MINUTE_MS);
    const again = judgeUnknown(issuer);
    (await next).end();
    expect(await again).toMatchObject({ message: UNAVAILABLE });
  });
});

describe('a token without kid', () => {
  it('is accepted again within a minute of the end of a rotation, and its old key refused', async () => {
    const issuer = await TestIssuer.start(RSA_JWK, NEXT_RSA_JWK);
    expect(await judgeNameless(issuer, NEXT_RSA.privateKey)).toMatchObject({ message: AMBIGUOUS });
    issuer.server.publish(NEXT_RSA_JWK);
    issuer.time.pass(MINUTE_MS);
    expect(await judgeNameless(issuer, NEXT_RSA.privateKey)).toMatchObject({ ok: true });
    expect(await judgeNameless(issuer)).toMatchObject({ message: "The token's signature is not valid." });
  });

  it('that is cached is refused after the fetch that brings a second key, as if it were not cached', async () => {
    const issuer = await TestIssuer.start(RSA_JWK);
    await judgeNameless(issuer);
    expect(await judgeNameless(issuer)).toMatchObject({ ok: true });
    expect(issuer.authenticator.remembered.hits).toBe(1);
    await issuer.replaceKeys(RSA_JWK, NEXT_RSA_JWK);
    expect(await judgeNameless(issuer)).toMatchObject({ reason: 'TOKEN_INVALID', message: AMBIGUOUS });
  });
});

describe('a withdrawn key', () => {
  it('is refused once the set is fetched again, even if its token is cached', async () => {
    const issuer = await TestIssuer.start(RSA_JWK);
    await judgeRsa(issuer);
    expect(await judgeRsa(issuer)).toMatchObject({ ok: true });
    expect(issuer.authenticator.remembered.hits).toBe(1);
    await issuer.replaceKeys(EC_JWK);
    expect(await judgeRsa(issuer)).toMatchObject({ reason: 'TOKEN_INVALID', message: UNKNOWN_KID });
    expect(await judgeEc(issuer)).toMatchObject({ ok: true });
  });

  it('is refused within ten minutes, even if its token is cached while the set is fetched, after a failure', async () => {
    const issuer = await TestIssuer.start(RSA_JWK);
    issuer.server.answer((_, response) => response.writeHead(500).end());
    await issuer.pass(5 * MINUTE_MS);
    const arrived = holdFetches(issuer);
    issuer.time.pass(MINUTE_MS);
    const response = await arrived;
    await judgeRsa(issuer);
    expect(await judgeRsa(issuer)).toMatchObject({ ok: true });
    expect(issuer.authenticator.remembered.hits).toBe(1);
    response.end(JSON.stringify({ keys: [EC_JWK] }));
    issuer.server.publish(EC_JWK);
    await issuer.time.planned();
    issuer.time.pass(MINUTE_MS);
    expect(await judgeRsa(issuer)).toMatchObject({ reason: 'TOKEN_INVALID', message: UNKNOWN_KID });
  });
});

describe('when the clock of the system steps', () => {
  it.each([-60, 60])('by %i minutes, a withdrawn key is refused as soon as otherwise', async (minutes) => {
    const issuer = await TestIssuer.start(RSA_JWK);
    expect(await judgeRsa(issuer)).toMatchObject({ ok: true });
    issuer.time.step(minutes * MINUTE_MS);
    await issuer.replaceKeys(EC_JWK);
    expect(await judgeRsa(issuer)).toMatchObject({ reason: 'TOKEN_INVALID', message: UNKNOWN_KID });
  });

  it('back, a key that was published later is still found', async () => {
    const issuer = await TestIssuer.start(RSA_JWK);
    issuer.server.publish(EC_JWK);
    issuer.time.step(-60 * MINUTE_MS);
    issuer.time.pass(MINUTE_MS);
    expect(await judgeEc(issuer)).toMatchObject({ ok: true });
  });

  it('forward, as after a sleep, the known keys stay in use, and an expired token is refused', async () => {
    const issuer = await TestIssuer.start(RSA_JWK);
    await issuer.server.stop();
    issuer.time.step(120 * MINUTE_MS);
    expect(await judgeRsa(issuer)).toMatchObject({ ok: true });
    issuer.time.step(24 * 60 * MINUTE_MS);
    expect(await judgeRsa(issuer)).toMatchObject({ message: 'The token has expired.' });
  });
});

describe('while the key set cannot be fetched', () => {
  it('and never could, a token is neither valid nor invalid', async () => {
    const issuer = await TestIssuer.startUnfetched({ keys: [] });
    await issuer.server.stop();
    await issuer.fetchFirst();
    expect(await judgeRsa(issuer)).toEqual({
      ok: false,
      reason: 'KEYS_UNAVAILABLE',
      message: UNAVAILABLE,
      cause: expect.any(Error) as unknown,
    });
    expect(issuer.problems).toEqual([[expect.any(Error), 'lost']]);
  });

  it('and never could, the fetch is tried again each second, and the set is used at once', async () => {
    const issuer = await TestIssuer.startUnfetched({ keys: [RSA_JWK] });
    const { port } = issuer.server;
    await issuer.server.stop();
    await issuer.fetchFirst();
    for (let second = 1; second < 300; second++) await issuer.pass(SECOND_MS);
    expect(issuer.problems).toHaveLength(300);
    await issuer.server.listen(port);
    await issuer.pass(SECOND_MS - 1);
    expect(await judgeRsa(issuer)).toMatchObject({ reason: 'KEYS_UNAVAILABLE' });
    await issuer.pass(1);
    await issuer.keySet.ready;
    expect(await judgeRsa(issuer)).toMatchObject({ ok: true });
    expect(issuer.server.requests).toBe(1);
  });

  it('the known keys stay in use for an hour, and then no token can be verified, cached or not', async () => {
    const issuer = await TestIssuer.start(RSA_JWK, EC_JWK);
    await issuer.server.stop();
    await issuer.pass(59 * MINUTE_MS);
    expect(await judgeUnknown(issuer)).toMatchObject({ reason: 'KEYS_UNAVAILABLE' });
    issuer.time.pass(MINUTE_MS - 1);
    await judgeRsa(issuer);
    expect(await judgeRsa(issuer)).toMatchObject({ ok: true });
    expect(issuer.authenticator.remembered.hits).toBe(1);
    await issuer.pass(1);
    for (const judge of [judgeRsa, judgeEc])
      expect(await judge(issuer)).toMatchObject({ reason: 'KEYS_UNAVAILABLE', message: UNAVAILABLE });
  });

  it('the hour begins with the last successful fetch', async () => {
    const issuer = await TestIssuer.start(RSA_JWK);
    for (let count = 0; count < 6; count++) await issuer.pass(5 * MINUTE_MS);
    await issuer.server.stop();
    await issuer.pass(60 * MINUTE_MS - 1);
    expect(await judgeRsa(issuer)).toMatchObject({ ok: true });
  });

  it('it is tried again each minute, and each failure is reported while the known keys stay in use', async () => {
    const issuer = await TestIssuer.start(RSA_JWK);
    issuer.server.answer((_, response) => response.writeHead(500).end());
    await issuer.pass(5 * MINUTE_MS);
    await issuer.pass(MINUTE_MS - 1);
    expect(issuer.server.requests).toBe(2);
    await issuer.pass(1);
    expect(issuer.server.requests).toBe(3);
    const failure = [new Error('The status is 500; it must be 200.'), 'usable'];
    expect(issuer.problems).toEqual([failure, failure]);
  });

  it.each([
    { tried: 120 * MINUTE_MS, again: SECOND_MS, title: 'within a second after more than an hour' },
    { tried: 60 * MINUTE_MS - 30 * SECOND_MS, again: 30 * SECOND_MS, title: 'when the keys are an hour old' },
  ])('it is found again $title', async ({ tried, again }) => {
    const issuer = await TestIssuer.start(RSA_JWK);
    const { port } = issuer.server;
    await issuer.server.stop();
    await issuer.pass(tried);
    expect(issuer.keySet.ageMs).toBe(tried);
    await issuer.server.listen(port);
    await issuer.pass(again);
    expect(issuer.keySet.ageMs).toBe(0);
    expect(await judgeRsa(issuer)).toMatchObject({ ok: true });
  });

  it('a known kid with the wrong alg is still refused', async () => {
    const issuer = await TestIssuer.start(RSA_JWK);
    await issuer.server.stop();
    await issuer.pass(5 * MINUTE_MS);
    expect(await issuer.judge(P_256.privateKey, { alg: 'ES256', kid: 'rsa' })).toMatchObject({
      message: "The token's kid does not name a key for its alg.",
    });
  });
});

const KEYS = JSON.stringify({ keys: [RSA_JWK] });

const redirect: RequestListener = ({ url }, response) => {
  if (url === '/jwks.json') response.writeHead(302, { location: '/elsewhere' }).end();
  else response.end(KEYS);
};

const compressed: RequestListener = (_, response) => {
  response.setHeader('content-encoding', 'gzip').end(gzipSync(' '.repeat(1_048_576) + KEYS));
};

const trickle: RequestListener = (_, response) => {
  const timer = setInterval(() => response.write(' '), 100);
  response.once('close', () => {
    clearInterval(timer);
  });
};

describe('a fetch fails, and the keys in use stay, with', () => {
  it.each<[string, RequestListener]>([
    ['an error status', (_, response) => response.writeHead(500).end()],
    ['a valid body with a status other than 200', (_, response) => response.writeHead(203).end(KEYS)],
    ['a redirect to valid keys', redirect],
    ['a body that is not JSON', (_, response) => response.end('<html>')],
    ['a set without keys', (_, response) => response.end('{"keys":[]}')],
    ['bytes that are not UTF-8', (_, response) => response.end(Buffer.from([0x22, 0xff, 0x22]))],
    ['a closed connection', ({ socket }) => socket.destroy()],
    ['a body cut short', (_, response) => response.writeHead(200, { 'content-length': 9_999 }).end(KEYS)],
    ['valid keys after a MiB of spaces', (_, response) => response.end(' '.repeat(1_048_576) + KEYS)],
    ['valid keys after a MiB of spaces, compressed', compressed],
    ['no response in time', () => undefined],
    ['an endless body, one byte at a time', trickle],
  ])('%s', async (_, answer) => {
    const issuer = await TestIssuer.startUnfetched({ keys: [EC_JWK], fetchMs: 300 });
    await issuer.fetchFirst();
    issuer.server.answer(answer);
    await issuer.pass(5 * MINUTE_MS);
    expect(issuer.server.requests).toBe(2);
    expect(issuer.problems).toEqual([[expect.any(Error), 'usable']]);
    expect(await judgeEc(issuer)).toMatchObject({ ok: true });
    expect(await judgeRsa(issuer)).toMatchObject({ reason: 'KEYS_UNAVAILABLE', message: UNAVAILABLE });
  });

  it('an endless response, which is abandoned after a MiB, however fast it arrives', async () => {
    const issuer = await TestIssuer.startUnfetched({ keys: [] });
    let sent = 0;
    const closed = new Promise((resolve) => {
      issuer.server.answer((_, response) => {
        const chunk = Buffer.alloc(65_536, ' ');
        const write = (): void => {
          do sent += chunk.length;
          while (response.write(chunk) && sent < 1e9);
        };
        response.on('drain', write).once('close', resolve);
        write();
      });
    });
    await issuer.fetchFirst();
    expect(await judgeRsa(issuer)).toMatchObject({ reason: 'KEYS_UNAVAILABLE' });
    await closed;
    // The socket buffers hold a few MiB more.
    expect(sent).toBeLessThan(32 * 1_048_576);
  });
});

describe('the URL of a key set is refused when it', () => {
  it.each([
    ['is empty', '', 'The URL of the key set is not a URL.'],
    ['names a file', 'file:///etc/keys.json', 'The URL of the key set does not begin with http: or https:.'],
    ['holds a user', 'https://me@issuer.test/', 'The URL of the key set must not hold credentials.'],
    ['holds a password', 'https://:pw@issuer.test/', 'The URL of the key set must not hold credentials.'],
  ])('%s', (_, url, message) => {
    expect(() => new RemoteKeySet({ url })).toThrow(new Error(message));
  });
});
