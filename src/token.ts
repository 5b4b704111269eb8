import { createSecretKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import jwt from 'jsonwebtoken';
import { readTokenRequest, USAGE } from './run/token-request.js';
import { readTokens } from './settings/config.js';
import type { TokenKey } from './settings/token-config.js';
import { localSecret } from './settings/local-secret.js';
import { secretsIn } from './settings/secret-file.js';

/** Prints a token signed with the configured or the local secret, and nothing else. */
function main(): void {
  const request = readTokenRequest(process.argv.slice(2), process.env);
  if (request === undefined) {
    process.stdout.write(`${USAGE}\n`);
    return;
  }
  const { scope, sub, ttlSeconds } = request;
  const { key, issuer, audience } = readTokens(process.env);
  const token = jwt.sign({ scope }, createSecretKey(Buffer.from(secretOf(key))), {
    algorithm: 'HS256',
    subject: sub,
    issuer,
    audience,
    expiresIn: ttlSeconds,
  });
  process.stdout.write(`${token}\n`);
}

/** The secret that signs. */
function secretOf(key: TokenKey): string {
  if (key.kind === 'local') return localSecret(key.file);
  if (key.kind === 'secret') return key.secret;
  const [first] = key.kind === 'secretFile' ? secretsIn(readFileSync(key.file)) : [];
  if (first !== undefined) return first;
  throw new Error(
    'A token can be made only with JWT_SECRET or JWT_SECRET_FILE: for any other key, the service has only the public half.',
  );
}

try {
  main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
