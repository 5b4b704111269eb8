import { createSecretKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import jwt from 'jsonwebtoken';
import { readTokenRequest, USAGE } from './run/token-request.js';
import { readTokens } from './settings/config.js';
import { localSecret, secretsIn, type TokenKey } from './settings/tokens.js';

/** Prints a token, signed with the configured or the local secret, to stdout, and the secret's origin to stderr. */
function main(): void {
  const request = readTokenRequest(process.argv.slice(2), process.env);
  if (request === undefined) {
    process.stdout.write(`${USAGE}\n`);
    return;
  }
  const { scope, sub, ttlSeconds } = request;
  const { key, issuer, audience } = readTokens(process.env);
  const { secret, from } = signing(key);
  const token = jwt.sign({ scope }, createSecretKey(Buffer.from(secret)), {
    algorithm: 'HS256',
    subject: sub,
    issuer,
    audience,
    expiresIn: ttlSeconds,
  });
  process.stderr.write(`Signed with ${from}.\n`);
  process.stdout.write(`${token}\n`);
}

/** The signing secret, and a description of its origin. @throws Error when the service has only public keys */
function signing(key: TokenKey): { readonly secret: string; readonly from: string } {
  if (key.kind === 'local')
    return {
      secret: localSecret(key.file),
      from: `the local secret, ${key.file}, since JWT_SECRET is not set`,
    };
  if (key.kind === 'secret') return { secret: key.secret, from: 'JWT_SECRET' };
  if (key.kind === 'secretFile') {
    const [secret = ''] = secretsIn(readFileSync(key.file));
    return { secret, from: `the first secret in JWT_SECRET_FILE, ${key.file}` };
  }
  throw new Error(
    'Tokens can be signed only with JWT_SECRET or JWT_SECRET_FILE: of any other key, the service has only the public part.',
  );
}

try {
  main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
