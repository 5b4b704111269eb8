import { createSecretKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { Metadata, status } from '@grpc/grpc-js';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { KeySetServer } from './auth/key-set-server.js';
import { AUDIENCE, CLAIMS, type Header, ISSUER, NOW, signJwt } from './auth/sign-jwt.js';
import { listen } from '../packages/transcoder/test/support/grpc-server.js';
import { opening } from '../packages/transcoder/test/support/opening.js';
import { PATH, unaryCall } from '../packages/transcoder/test/support/unary-call.js';
import { openAuthenticator, openUpstream } from '../src/app.js';
import type { Authenticator } from '../src/auth/authenticator.js';
import { Closing } from '../src/run/closing.js';
import { readConfig } from '../src/settings/config.js';
import type { TokenKey } from '../src/settings/tokens.js';

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

function open(key: TokenKey, now = (): number => NOW * 1000): Authenticator {
  const sink = new Writable({
    write(line: Buffer, _encoding, done) {
      log += line.toString();
      done();
    },
  });
  const dependencies = { closing, logger: pino(sink), now, fileCheckMs: 20 };
  return openAuthenticator({ key, issuer: ISSUER, audience: AUDIENCE }, dependencies);
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
    expect(judgeBy(authenticator, NEW)).toMatchObject({ ok: false });
    replaceFile(`${NEW}\r\n\n ${OLD} \n`);
    await vi.waitFor(() => {
      expect(judgeBy(authenticator, NEW)).toMatchObject({ ok: true });
    });
    expect(judgeBy(authenticator, OLD)).toMatchObject({ ok: true });
    expect(log).toContain('the token keys have changed');
  });

  it('no longer verify tokens of a removed secret, even cached ones', async () => {
    const authenticator = open({ kind: 'secretFile', file });
    expect(judgeBy(authenticator, OLD)).toMatchObject({ ok: true });
    replaceFile(NEW);
    await vi.waitFor(() => {
      expect(judgeBy(authenticator, OLD)).toMatchObject({ ok: false, reason: 'TOKEN_INVALID' });
    });
    expect(judgeBy(authenticator, NEW)).toMatchObject({ ok: true });
  });

  it('stay in use while the file holds a short secret, with a logged warning that contains no secret', async () => {
    const authenticator = open({ kind: 'secretFile', file });
    replaceFile('hush-hush');
    await vi.waitFor(() => {
      expect(log).toContain('the key file cannot be used');
    });
    expect(judgeBy(authenticator, OLD)).toMatchObject({ ok: true });
    expect(log).not.toMatch(/hush|oldold/);
  });
});

describe('the public key in a file', () => {
  const judgeBy = (authenticator: Authenticator, key: KeyObject) =>
    judge(authenticator, key, { alg: 'RS256' });

  it('is replaced with the file, and then even cached tokens of the old key are refused', async () => {
    replaceFile(pemOf(OLD_RSA.publicKey));
    const authenticator = open({ kind: 'publicKeyFile', file });
    expect(judgeBy(authenticator, OLD_RSA.privateKey)).toMatchObject({ ok: true });
    replaceFile(pemOf(NEW_RSA.publicKey));
    await vi.waitFor(() => {
      expect(judgeBy(authenticator, NEW_RSA.privateKey)).toMatchObject({ ok: true });
    });
    expect(judgeBy(authenticator, OLD_RSA.privateKey)).toMatchObject({ ok: false });
  });
});

it('a key set that cannot be refreshed is reported while its keys stay in use', async () => {
  const issuer = await KeySetServer.start({ ...OLD_RSA.publicKey.export({ format: 'jwk' }), kid: 'k' });
  onTestFinished(() => issuer.stop());
  let nowMs = NOW * 1_000 - 3_600_000;
  const authenticator = open({ kind: 'jwks', url: issuer.url }, () => nowMs);
  const header = { alg: 'RS256', kid: 'k' } as const;
  await expect(judge(authenticator, OLD_RSA.privateKey, header)).resolves.toMatchObject({ ok: true });
  await issuer.stop();
  nowMs += 6 * 60_000;
  expect(judge(authenticator, OLD_RSA.privateKey, header)).toMatchObject({ ok: true });
  await expect.poll(() => log).toContain('the key set cannot be refreshed');
});

it('a gateway fails a call whose response exceeds 256 KiB, and names the bound', async () => {
  const server = opening(
    await listen(
      {
        unary: ({ message }) => ({
          code: status.OK,
          details: '',
          answered: true,
          message,
          trailers: new Metadata(),
        }),
      },
      [PATH],
    ),
  );
  const closing = new Closing();
  onTestFinished(async () => {
    await closing.close();
  });
  const dependencies = {
    closing,
    logger: pino({ level: 'silent' }),
    tracing: undefined,
    metrics: undefined,
    config: readConfig({ MAX_WAITING_CALLS: '8' }),
  };
  const target = { upstream: server.address, upstreamTls: undefined };
  const upstream = await openUpstream(target, undefined, dependencies);
  const ask = async (length: number) => upstream.unary(unaryCall({ message: Buffer.alloc(length) }));
  expect((await ask(256 * 1024)).code).toBe(status.OK);
  expect(await ask(256 * 1024 + 1)).toEqual({
    code: status.INTERNAL,
    details: expect.stringContaining('262144') as string,
    answered: false,
    told: 'The reply is larger than 262144 bytes, the maximum.',
  });
});
