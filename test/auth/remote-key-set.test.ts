import { createSecretKey, generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto';
import type { RequestListener, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type Authenticator,
  createAuthenticator,
  type RememberingAuthenticator,
  rememberTokens,
} from '../../src/auth/authenticator.js';
import { KeySetServer } from './key-set-server.js';
import { AUDIENCE, CLAIMS, type Header, ISSUER, NOW, signJwt } from './sign-jwt.js';

const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const NEXT_RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const SMALL_RSA = generateKeyPairSync('rsa', { modulusLength: 1024 });
const P_256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const P_384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
const P_521 = generateKeyPairSync('ec', { namedCurve: 'P-521' });
const SECRET = createSecretKey(Buffer.alloc(32, 'k'));

const UNKNOWN_KID = "The token's kid names no key of the issuer.";
const UNUSABLE_KID = "The token's kid does not name a key for its alg.";
const AMBIGUOUS = 'The token has no kid, and several keys of the issuer fit its alg.';
const NONE_FITS = 'The issuer has no key for the alg of the token.';
const UNAVAILABLE = 'The keys that verify tokens are unavailable. Try again.';

const jwk = (key: KeyObject, members: JsonWebKey): JsonWebKey => ({
  ...key.export({ format: 'jwk' }),
  ...members,
});
const RSA_JWK = jwk(RSA.publicKey, { kid: 'rsa' });
const NEXT_RSA_JWK = jwk(NEXT_RSA.publicKey, { kid: 'next' });
const EC_JWK = jwk(P_256.publicKey, { kid: 'ec' });

const MINUTE_MS = 60_000;

let server: KeySetServer;
let authenticator: Authenticator;
let nowMs: number;
let problems: Error[];

function pass(ms: number): void {
  nowMs += ms;
}

function judge(key: KeyObject, header: Header) {
  return authenticator.authenticate(`Bearer ${signJwt(key, header, { ...CLAIMS, exp: NOW + 86_400 })}`);
}

const judgeRsa = () => judge(RSA.privateKey, { alg: 'RS256', kid: 'rsa' });
const judgeEc = () => judge(P_256.privateKey, { alg: 'ES256', kid: 'ec' });
/** Judges a token without `kid`. */
const judgeNameless = (key = RSA.privateKey, alg: Header['alg'] = 'RS256') => judge(key, { alg });
const judgeUnknown = () => judge(RSA.privateKey, { alg: 'RS256', kid: crypto.randomUUID() });

beforeEach(async () => {
  nowMs = NOW * 1000;
  problems = [];
  server = await KeySetServer.start(RSA_JWK);
  authenticator = authenticatorOf({});
});

function authenticatorOf(times: { fetchMs?: number }): Authenticator {
  return createAuthenticator({
    key: { kind: 'jwks', url: server.url },
    issuer: ISSUER,
    audience: AUDIENCE,
    now: () => nowMs,
    onProblem: (error) => problems.push(error),
    ...times,
  });
}

/** Caches accepted tokens from now on. */
function remembering(): RememberingAuthenticator {
  const tokens = rememberTokens(authenticator, () => nowMs);
  authenticator = tokens;
  return tokens;
}

afterEach(async () => {
  vi.unstubAllEnvs();
  await server.stop();
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

describe('the key that the kid names', () => {
  it.each<[Header['alg'], KeyObject, string]>([
    ['RS256', RSA.privateKey, 'rsa'],
    ['PS512', RSA.privateKey, 'rsa'],
    ['ES256', P_256.privateKey, 'ec'],
    ['ES384', P_384.privateKey, 'p-384'],
    ['ES512', P_521.privateKey, 'p-521'],
  ])('verifies a token with alg %s', async (alg, key, kid) => {
    const p384 = jwk(P_384.publicKey, { kid: 'p-384' });
    const p521 = jwk(P_521.publicKey, { kid: 'p-521', use: 'sig', key_ops: ['verify'] });
    server.publish(RSA_JWK, EC_JWK, p384, p521);
    expect(await judge(key, { alg, kid })).toMatchObject({ ok: true, caller: { subject: 'alice' } });
  });

  it('is the only key of the set that is tried', async () => {
    server.publish(RSA_JWK, jwk(SMALL_RSA.publicKey, { kid: 'other' }));
    expect(await judge(SMALL_RSA.privateKey, { alg: 'RS256', kid: 'rsa' })).toMatchObject({
      reason: 'TOKEN_INVALID',
      message: "The token's signature is not valid.",
    });
  });
});

describe('a token is refused, whatever its signature, when', () => {
  it.each<[string, KeyObject, Header, string]>([
    [
      'its alg is an HMAC',
      SECRET,
      { alg: 'HS256', kid: 'hmac' },
      "The token's alg is not allowed for the key.",
    ],
    ['its kid is a number', RSA.privateKey, { alg: 'RS256', kid: 1 }, "The token's kid is not a string."],
    ['its kid is null', RSA.privateKey, { alg: 'RS256', kid: null }, "The token's kid is not a string."],
    ['its kid is unknown', RSA.privateKey, { alg: 'RS256', kid: 'RSA' }, UNKNOWN_KID],
    ['its kid is empty', RSA.privateKey, { alg: 'RS256', kid: '' }, UNKNOWN_KID],
    ['its kid is a path', RSA.privateKey, { alg: 'RS256', kid: '../../dev/null' }, UNKNOWN_KID],
    ['its kid names a key of another type', RSA.privateKey, { alg: 'RS256', kid: 'ec' }, UNUSABLE_KID],
    ['its kid names a key for another alg', RSA.privateKey, { alg: 'RS512', kid: 'rs256' }, UNUSABLE_KID],
    ['its kid names a key for another curve', P_256.privateKey, { alg: 'ES384', kid: 'ec' }, UNUSABLE_KID],
    ['its kid names two keys', RSA.privateKey, { alg: 'RS256', kid: 'twice' }, UNUSABLE_KID],
    [
      'its kid is a property name of JavaScript objects',
      RSA.privateKey,
      { alg: 'RS256', kid: '__proto__' },
      UNKNOWN_KID,
    ],
  ])('%s', async (_, key, header, message) => {
    server.publish(
      { kty: 'oct', kid: 'hmac', k: SECRET.export().toString('base64url') },
      RSA_JWK,
      EC_JWK,
      jwk(RSA.publicKey, { kid: 'rs256', alg: 'RS256' }),
      jwk(RSA.publicKey, { kid: 'twice' }),
      jwk(P_256.publicKey, { kid: 'twice' }),
      jwk(RSA.publicKey, { kid: 'twice' }),
    );
    expect(await judge(key, header)).toMatchObject({ ok: false, reason: 'TOKEN_INVALID', message });
  });
});

describe('a token without kid', () => {
  it.each<[string, JsonWebKey]>([
    ['is for encryption', jwk(NEXT_RSA.publicKey, { use: 'enc' })],
    ['may only wrap keys', jwk(NEXT_RSA.publicKey, { kid: 'wrap', key_ops: ['wrapKey', 'unwrapKey'] })],
    ['has another alg', jwk(NEXT_RSA.publicKey, { kid: 'other', alg: 'RS512' })],
    ['has an alg for encryption', jwk(NEXT_RSA.publicKey, { alg: 'RSA-OAEP-256' })],
    ['is of another type', jwk(P_256.publicKey, {})],
    ['has 1024 bits', jwk(SMALL_RSA.publicKey, {})],
    ['is private', jwk(NEXT_RSA.privateKey, {})],
    ['is a secret', { kty: 'oct', k: SECRET.export().toString('base64url'), alg: 'RS256' }],
    ['has a kid that is not a string', { ...jwk(NEXT_RSA.publicKey, {}), kid: 5 }],
    ['has a type that nobody knows', { kty: 'PQC', alg: 'RS256' }],
    ['is an empty object', {}],
  ])('fits no key that %s', async (_, unfit) => {
    server.publish(unfit);
    expect(await judgeNameless(NEXT_RSA.privateKey)).toMatchObject({
      reason: 'TOKEN_INVALID',
      message: NONE_FITS,
    });
    server.publish(unfit, jwk(RSA.publicKey, {}));
    pass(MINUTE_MS);
    expect(await judgeNameless()).toMatchObject({ ok: true });
  });

  it('is refused, whichever key signed it, while several keys fit its alg', async () => {
    server.publish(RSA_JWK, jwk(NEXT_RSA.publicKey, {}), EC_JWK);
    const refusal = { ok: false, reason: 'TOKEN_INVALID', message: AMBIGUOUS };
    expect(await judgeNameless(RSA.privateKey)).toEqual(refusal);
    expect(await judgeNameless(NEXT_RSA.privateKey)).toEqual(refusal);
    expect(await judgeRsa()).toMatchObject({ ok: true });
    expect(await judgeNameless(P_256.privateKey, 'ES256')).toMatchObject({ ok: true });
  });

  it('is the only one that a key without kid verifies', async () => {
    server.publish(jwk(RSA.publicKey, {}));
    expect(await judgeRsa()).toMatchObject({ reason: 'TOKEN_INVALID', message: UNKNOWN_KID });
    expect(await judge(RSA.privateKey, { alg: 'RS256', kid: 'undefined' })).toMatchObject({
      message: UNKNOWN_KID,
    });
    expect(await judge(RSA.privateKey, { alg: 'RS256', kid: '' })).toMatchObject({ message: UNKNOWN_KID });
    expect(await judgeNameless()).toMatchObject({ ok: true });
  });

  it('is accepted again within a minute of the end of a rotation, and its old key refused', async () => {
    server.publish(RSA_JWK, NEXT_RSA_JWK);
    expect(await judgeNameless(NEXT_RSA.privateKey)).toMatchObject({ message: AMBIGUOUS });
    server.publish(NEXT_RSA_JWK);
    pass(MINUTE_MS);
    expect(await judgeNameless(NEXT_RSA.privateKey)).toMatchObject({ ok: true });
    expect(await judgeNameless(RSA.privateKey)).toMatchObject({
      message: "The token's signature is not valid.",
    });
  });

  it('that is cached is refused ten minutes after a second key appears, as if it were not cached', async () => {
    const tokens = remembering();
    await judgeNameless();
    server.publish(RSA_JWK, NEXT_RSA_JWK);
    pass(5 * MINUTE_MS - 1);
    expect(judgeNameless()).toMatchObject({ ok: true });
    expect(tokens.remembered.hits).toBe(1);
    pass(5 * MINUTE_MS + 1);
    expect(await judgeNameless()).toMatchObject({ reason: 'TOKEN_INVALID', message: AMBIGUOUS });
  });
});

describe('callers whose tokens have no kid', () => {
  it('cause one fetch a minute, whether no key fits or several, together with unknown kids', async () => {
    server.publish(RSA_JWK, NEXT_RSA_JWK);
    await judgeRsa();
    pass(MINUTE_MS);
    for (let count = 0; count < 20; count++) {
      expect(await judgeNameless()).toMatchObject({ message: AMBIGUOUS });
      expect(await judgeNameless(P_256.privateKey, 'ES256')).toMatchObject({ message: NONE_FITS });
      expect(await judgeUnknown()).toMatchObject({ message: UNKNOWN_KID });
    }
    expect(server.requests).toBe(2);
    pass(MINUTE_MS);
    await Promise.all(Array.from({ length: 200 }, async () => judgeNameless()));
    expect(server.requests).toBe(3);
  });

  it('cause no fetch by forged signatures, whatever they try', async () => {
    await judgeRsa();
    pass(MINUTE_MS);
    for (let count = 0; count < 20; count++) {
      expect(judgeNameless(NEXT_RSA.privateKey)).toMatchObject({ reason: 'TOKEN_INVALID' });
    }
    expect(server.requests).toBe(1);
  });

  it('do not delay others, whose keys are known, while they wait for a fetch', async () => {
    server.publish(RSA_JWK, NEXT_RSA_JWK, EC_JWK);
    await judgeRsa();
    const arrived = new Promise<ServerResponse>((resolve) => {
      server.answer((_, response) => {
        resolve(response);
      });
    });
    pass(MINUTE_MS);
    const waiting = judgeNameless();
    const response = await arrived;
    expect(judgeRsa()).toMatchObject({ ok: true });
    expect(judgeNameless(P_256.privateKey, 'ES256')).toMatchObject({ ok: true });
    response.end(JSON.stringify({ keys: [RSA_JWK] }));
    expect(await waiting).toMatchObject({ ok: true });
  });

  it('do not take the known keys of others when the fetch they cause fails', async () => {
    server.publish(RSA_JWK, NEXT_RSA_JWK, EC_JWK);
    await judgeRsa();
    await server.stop();
    pass(MINUTE_MS);
    expect(await judgeNameless()).toMatchObject({ reason: 'KEYS_UNAVAILABLE', message: UNAVAILABLE });
    expect(judgeRsa()).toMatchObject({ ok: true });
    expect(judgeNameless(P_256.privateKey, 'ES256')).toMatchObject({ ok: true });
  });
});

describe('the key set', () => {
  it('is fetched once for many tokens, even concurrent ones', async () => {
    await Promise.all([judgeRsa(), judgeRsa(), judgeRsa()]);
    expect(await judgeRsa()).toMatchObject({ ok: true });
    expect(server.requests).toBe(1);
  });

  it('is fetched directly even if the environment names a proxy', async () => {
    vi.stubEnv('http_proxy', 'http://127.0.0.1:9');
    vi.stubEnv('HTTP_PROXY', 'http://127.0.0.1:9');
    expect(await judgeRsa()).toMatchObject({ ok: true });
  });

  it('is not fetched for a token that no key could verify', async () => {
    await judge(SECRET, { alg: 'HS256', kid: 'rsa' });
    await judge(RSA.privateKey, { alg: 'RS256', kid: 1 });
    await authenticator.authenticate('Bearer abc');
    expect(server.requests).toBe(0);
  });

  it('is fetched again for a kid that was published later', async () => {
    await judgeRsa();
    server.publish(EC_JWK);
    pass(60_000);
    expect(await judgeEc()).toMatchObject({ ok: true });
    expect(server.requests).toBe(2);
  });

  it('is not fetched again within a minute', async () => {
    await judgeRsa();
    server.publish(EC_JWK);
    pass(59_999);
    expect(await judgeEc()).toMatchObject({ reason: 'TOKEN_INVALID', message: UNKNOWN_KID });
    expect(server.requests).toBe(1);
  });

  it('is fetched once more for any number of unknown kids', async () => {
    await judgeRsa();
    pass(60_000);
    for (let count = 0; count < 20; count++) {
      expect(await judgeUnknown()).toMatchObject({ reason: 'TOKEN_INVALID', message: UNKNOWN_KID });
    }
    expect(server.requests).toBe(2);
  });

  it('is fetched in the background after five minutes, so that calls need not wait', async () => {
    await judgeRsa();
    pass(5 * MINUTE_MS - 1);
    expect(judgeRsa()).toMatchObject({ ok: true });
    expect(server.requests).toBe(1);
    pass(1);
    expect(judgeRsa()).toMatchObject({ ok: true });
    await vi.waitFor(() => {
      expect(server.requests).toBe(2);
    });
  });
});

describe('a withdrawn key', () => {
  it('is refused ten minutes later, by the first token that uses it', async () => {
    await judgeRsa();
    server.publish(EC_JWK);
    pass(10 * MINUTE_MS);
    expect(await judgeRsa()).toMatchObject({ reason: 'TOKEN_INVALID', message: UNKNOWN_KID });
    expect(await judgeEc()).toMatchObject({ ok: true });
    expect(server.requests).toBe(2);
  });

  it('is refused ten minutes later, even if its token is cached', async () => {
    const tokens = remembering();
    await judgeRsa();
    server.publish(EC_JWK);
    pass(5 * MINUTE_MS - 1);
    expect(judgeRsa()).toMatchObject({ ok: true });
    expect(tokens.remembered.hits).toBe(1);
    pass(5 * MINUTE_MS + 1);
    expect(await judgeRsa()).toMatchObject({ reason: 'TOKEN_INVALID', message: UNKNOWN_KID });
  });

  it('is refused ten minutes later, even if its token was found in the cache during the fetch', async () => {
    const tokens = remembering();
    await judgeRsa();
    const arrived = new Promise<ServerResponse>((resolve) => {
      server.answer((_, response) => {
        resolve(response);
      });
    });
    pass(10 * MINUTE_MS - 2);
    expect(judgeRsa()).toMatchObject({ ok: true });
    const response = await arrived;
    pass(1);
    expect(judgeRsa()).toMatchObject({ ok: true });
    expect(tokens.remembered.hits).toBe(1);
    pass(1);
    const waiting = judgeRsa();
    response.end(JSON.stringify({ keys: [EC_JWK] }));
    expect(await waiting).toMatchObject({ reason: 'TOKEN_INVALID', message: UNKNOWN_KID });
  });
});

describe('while the key set cannot be fetched', () => {
  it('a token is neither valid nor invalid', async () => {
    await server.stop();
    expect(await judgeRsa()).toEqual({
      ok: false,
      reason: 'KEYS_UNAVAILABLE',
      message: UNAVAILABLE,
      cause: expect.any(Error) as unknown,
    });
  });

  it('the known keys stay in use for an hour, and then no token can be verified', async () => {
    await judgeRsa();
    await server.stop();
    pass(59 * MINUTE_MS);
    expect(await judgeRsa()).toMatchObject({ ok: true });
    expect(await judgeUnknown()).toMatchObject({ reason: 'KEYS_UNAVAILABLE' });
    pass(MINUTE_MS - 1);
    expect(await judgeRsa()).toMatchObject({ ok: true });
    pass(1);
    expect(await judgeRsa()).toMatchObject({ reason: 'KEYS_UNAVAILABLE', message: UNAVAILABLE });
  });

  it('cached tokens are accepted for an hour too, and no longer', async () => {
    const tokens = remembering();
    await judgeRsa();
    await server.stop();
    pass(59 * MINUTE_MS + 1);
    expect(await judgeRsa()).toMatchObject({ ok: true });
    pass(MINUTE_MS - 2);
    expect(judgeRsa()).toMatchObject({ ok: true });
    expect(tokens.remembered.hits).toBe(1);
    pass(1);
    expect(await judgeRsa()).toMatchObject({ reason: 'KEYS_UNAVAILABLE' });
  });

  it('the hour begins with the last successful fetch', async () => {
    await judgeRsa();
    pass(30 * MINUTE_MS);
    await judgeRsa();
    await server.stop();
    pass(59 * MINUTE_MS);
    expect(await judgeRsa()).toMatchObject({ ok: true });
  });

  it('each failed attempt is reported while the known keys stay in use', async () => {
    await judgeRsa();
    server.answer((_, response) => response.writeHead(500).end());
    pass(10 * MINUTE_MS);
    await judgeRsa();
    await judgeRsa();
    expect(problems).toEqual([new Error('The status is 500; it must be 200.')]);
  });

  it('tokens of known keys wait for one attempt a minute, and are verified at once between attempts', async () => {
    authenticator = authenticatorOf({ fetchMs: 1_000 });
    await judgeRsa();
    server.answer(() => undefined);
    pass(10 * MINUTE_MS);
    const waiting = Array.from({ length: 20 }, async () => judgeRsa());
    await vi.waitFor(() => {
      expect(server.requests).toBe(2);
    });
    for (const result of await Promise.all(waiting)) expect(result).toMatchObject({ ok: true });
    pass(MINUTE_MS - 1);
    for (let count = 0; count < 20; count++) expect(judgeRsa()).toMatchObject({ ok: true });
    expect(server.requests).toBe(2);
    pass(1);
    const next = judgeRsa();
    expect(next).toBeInstanceOf(Promise);
    await server.stop();
    expect(await next).toMatchObject({ ok: true });
  });

  it('a key that is withdrawn meanwhile is refused within a minute of the recovery', async () => {
    const { port } = server;
    await judgeRsa();
    await server.stop();
    pass(20 * MINUTE_MS);
    await judgeRsa();
    await server.listen(port);
    server.publish(EC_JWK);
    pass(MINUTE_MS);
    expect(await judgeRsa()).toMatchObject({ reason: 'TOKEN_INVALID', message: UNKNOWN_KID });
  });

  it('a known kid with the wrong alg is still refused', async () => {
    await judgeRsa();
    await server.stop();
    pass(60_000);
    expect(await judge(P_256.privateKey, { alg: 'ES256', kid: 'rsa' })).toMatchObject({
      message: UNUSABLE_KID,
    });
  });

  it('the fetch is tried again after a second if there are no keys', async () => {
    const { port } = server;
    await server.stop();
    await judgeRsa();
    await server.listen(port);
    pass(999);
    expect(await judgeRsa()).toMatchObject({ reason: 'KEYS_UNAVAILABLE' });
    pass(1);
    expect(await judgeRsa()).toMatchObject({ ok: true });
    expect(server.requests).toBe(1);
  });

  it.each<[string, Parameters<KeySetServer['answer']>[0]]>([
    ['an error status', (_, response) => response.writeHead(500).end()],
    ['a valid body with a status other than 200', (_, response) => response.writeHead(203).end(KEYS)],
    ['a redirect to valid keys', redirect],
    ['a body that is not JSON', (_, response) => response.end('<html>')],
    ['JSON that is not a key set', (_, response) => response.end('{"keys":5}')],
    ['a key that is not an object', (_, response) => response.end('{"keys":[5]}')],
    ['bytes that are not UTF-8', (_, response) => response.end(Buffer.from([0x22, 0xff, 0x22]))],
    ['a closed connection', ({ socket }) => socket.destroy()],
    ['a body cut short', (_, response) => response.writeHead(200, { 'content-length': 9_999 }).end(KEYS)],
    ['valid keys after a MiB of spaces', (_, response) => response.end(' '.repeat(1_048_576) + KEYS)],
    ['valid keys after a MiB of spaces, compressed', compressed],
    ['no response in time', () => undefined],
    ['an endless body, one byte at a time', trickle],
  ])('no token can be verified: %s', async (_, answer) => {
    authenticator = authenticatorOf({ fetchMs: 300 });
    server.answer(answer);
    expect(await judgeRsa()).toMatchObject({ reason: 'KEYS_UNAVAILABLE', message: UNAVAILABLE });
    expect(server.requests).toBe(1);
  });

  it('an endless response is abandoned after a MiB, however fast it arrives', async () => {
    let sent = 0;
    const closed = new Promise((resolve) => {
      server.answer((_, response) => {
        const chunk = Buffer.alloc(65_536, ' ');
        const write = (): void => {
          do sent += chunk.length;
          while (response.write(chunk) && sent < 1e9);
        };
        response.on('drain', write).once('close', resolve);
        write();
      });
    });
    expect(await judgeRsa()).toMatchObject({ reason: 'KEYS_UNAVAILABLE' });
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
    const key = { kind: 'jwks', url } as const;
    expect(() => createAuthenticator({ key, issuer: ISSUER, audience: AUDIENCE })).toThrow(
      new Error(message),
    );
  });
});
