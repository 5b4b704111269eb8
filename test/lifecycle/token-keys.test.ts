import { createSecretKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { KeySetServer } from '../auth/key-set-server.js';
import { ACCEPTED, CLAIMS, type Header, NOW, signJwt } from '../auth/sign-jwt.js';
import type { Authenticator } from '../../src/auth/authenticator.js';
import { Closing } from '../../src/lifecycle/closing.js';
import { openTokenKeys, type TokenKeys } from '../../src/lifecycle/token-keys.js';
import type { TokenKey } from '../../src/settings/tokens.js';

const OLD = 'old'.repeat(11);
const NEW = 'new'.repeat(11);
const OLD_RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const NEW_RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });

let folder: string;
let file: string;
let closing: Closing;
let log: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'keys-'));
  file = join(folder, 'keys');
  closing = new Closing();
  log = '';
});

afterEach(async () => {
  await closing.close();
  rmSync(folder, { recursive: true });
});

function replaceFile(content: string): void {
  writeFileSync(`${file}.next`, content);
  renameSync(`${file}.next`, file);
}

function openKeys(key: TokenKey, monotonic?: () => number): TokenKeys {
  const now = (): number => NOW * 1_000;
  const sink = new Writable({
    write(line: Buffer, _encoding, done) {
      log += line.toString();
      done();
    },
  });
  const config = {
    ...ACCEPTED,
    key,
    audienceClaim: undefined,
    scopes: { read: 'routes:read', write: 'routes:write' },
  };
  return openTokenKeys(config, { closing, logger: pino(sink), now, monotonic, fileCheckMs: 20 });
}

function open(key: TokenKey): Authenticator {
  return openKeys(key).authenticator;
}

function judge(authenticator: Authenticator, key: KeyObject, header: Header) {
  return authenticator.authenticate(`Bearer ${signJwt(key, header, CLAIMS)}`);
}

const secret = (text: string): KeyObject => createSecretKey(Buffer.from(text));
const pemOf = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();

describe('the secrets in a file', () => {
  const judgeBy = (authenticator: Authenticator, text: string) =>
    judge(authenticator, secret(text), { alg: 'HS256' });

  beforeEach(() => {
    replaceFile(OLD);
  });

  it('verify tokens as soon as they are added, together with the existing ones', async () => {
    const authenticator = open({ kind: 'secretFile', file });
    expect(await judgeBy(authenticator, NEW)).toMatchObject({ ok: false });
    replaceFile(`${NEW}\r\n\n ${OLD} \n`);
    await vi.waitFor(async () => {
      expect(await judgeBy(authenticator, NEW)).toMatchObject({ ok: true });
    });
    expect(await judgeBy(authenticator, OLD)).toMatchObject({ ok: true });
    expect(log).toContain('the token keys have changed');
  });

  it('no longer verify tokens of a removed secret, even cached ones', async () => {
    const authenticator = open({ kind: 'secretFile', file });
    expect(await judgeBy(authenticator, OLD)).toMatchObject({ ok: true });
    replaceFile(NEW);
    await vi.waitFor(async () => {
      expect(await judgeBy(authenticator, OLD)).toMatchObject({ ok: false, reason: 'TOKEN_INVALID' });
    });
    expect(await judgeBy(authenticator, NEW)).toMatchObject({ ok: true });
  });

  it('stay in use while the file holds a short secret, with a logged warning that contains no secret', async () => {
    const authenticator = open({ kind: 'secretFile', file });
    replaceFile('hush-hush');
    await vi.waitFor(() => {
      expect(log).toContain('the key file cannot be used');
    });
    expect(await judgeBy(authenticator, OLD)).toMatchObject({ ok: true });
    expect(log).not.toMatch(/hush|oldold/);
  });
});

describe('the public key in a file', () => {
  const judgeBy = (authenticator: Authenticator, key: KeyObject) =>
    judge(authenticator, key, { alg: 'RS256' });

  it('is replaced with the file, and then even cached tokens of the old key are refused', async () => {
    replaceFile(pemOf(OLD_RSA.publicKey));
    const authenticator = open({ kind: 'publicKeyFile', file });
    expect(await judgeBy(authenticator, OLD_RSA.privateKey)).toMatchObject({ ok: true });
    replaceFile(pemOf(NEW_RSA.publicKey));
    await vi.waitFor(async () => {
      expect(await judgeBy(authenticator, NEW_RSA.privateKey)).toMatchObject({ ok: true });
    });
    expect(await judgeBy(authenticator, OLD_RSA.privateKey)).toMatchObject({ ok: false });
  });
});

describe('the keys from a URL', () => {
  it('are waited for with one log line, which shows no query, and used at once', async () => {
    const issuer = await KeySetServer.start({ ...OLD_RSA.publicKey.export({ format: 'jwk' }), kid: 'k' });
    onTestFinished(() => issuer.stop());
    const { port, url } = issuer;
    await issuer.stop();
    const { authenticator, keySet } = openKeys({ kind: 'jwks', url: `${url}?code=hush` });
    expect(keySet?.ageMs).toBe(Infinity);
    // Two attempts, a second apart.
    await expect.poll(() => log).toContain('waiting for the key set: the service is not ready without it');
    const arrived = new Promise((resolve) => {
      issuer.answer((_, response) => {
        response.end(`{"keys":[]}`, () => {
          resolve(undefined);
        });
      });
    });
    await issuer.listen(port);
    await arrived;
    issuer.publish({ ...OLD_RSA.publicKey.export({ format: 'jwk' }), kid: 'k' });
    await keySet?.ready;
    expect(await judge(authenticator, OLD_RSA.privateKey, { alg: 'RS256', kid: 'k' })).toMatchObject({
      ok: true,
    });
    expect(keySet?.ageMs).toBeLessThan(60_000);
    await expect.poll(() => log).toContain('the key set has been fetched');
    expect(log.match(/waiting for the key set/g)).toHaveLength(1);
    expect(log).toContain(`"url":"${url}"`);
    expect(log).not.toContain('hush');
  });
});

it('a key set that cannot be refreshed is reported while its keys stay in use', async () => {
  const issuer = await KeySetServer.start({ ...OLD_RSA.publicKey.export({ format: 'jwk' }), kid: 'k' });
  onTestFinished(() => issuer.stop());
  let nowMs = 0;
  const { authenticator, keySet } = openKeys({ kind: 'jwks', url: issuer.url }, () => nowMs);
  await keySet?.ready;
  await issuer.stop();
  nowMs += 60_000;
  const stranger = await judge(authenticator, OLD_RSA.privateKey, { alg: 'RS256', kid: 'unknown' });
  expect(stranger).toMatchObject({ reason: 'KEYS_UNAVAILABLE' });
  expect(await judge(authenticator, OLD_RSA.privateKey, { alg: 'RS256', kid: 'k' })).toMatchObject({
    ok: true,
  });
  await expect.poll(() => log).toContain('the key set cannot be refreshed');
});
