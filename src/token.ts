import { createSecretKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import jwt from 'jsonwebtoken';
import { isSubject } from './auth/claims.js';
import { readTokens } from './settings/config.js';
import type { TokenKey } from './settings/token-config.js';
import { localSecret } from './settings/local-secret.js';
import { secretsIn } from './settings/secret-file.js';

const USAGE = 'Usage: npm run --silent token -- --scope "routes:read routes:write" --sub NAME [--ttl 1h]';
/** A number and its unit: seconds, minutes, hours or days. */
const TTL = /^([1-9]\d{0,5})([smhd])$/;
const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Prints a token signed with the configured or the local secret, and nothing else. */
function main(): void {
  const { values } = parseArgs({
    options: {
      scope: { type: 'string' },
      sub: { type: 'string' },
      ttl: { type: 'string', default: '1h' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) {
    process.stdout.write(`${USAGE}\n`);
    return;
  }
  const { scope, sub, ttl } = values;
  if (scope === undefined) throw misused('--scope is missing.');
  if (sub === undefined) throw misused('--sub is missing.');
  if (!isSubject(sub)) throw misused('--sub must have 1 to 255 characters, and no control characters.');
  const [, count, unit = ''] = TTL.exec(ttl) ?? [];
  const unitSeconds = UNIT_SECONDS[unit];
  if (unitSeconds === undefined)
    throw misused('--ttl must be a whole number from 1 to 999999 followed by s, m, h or d, such as 1h.');
  const { key, issuer, audience } = readTokens(process.env);
  const token = jwt.sign({ scope }, createSecretKey(Buffer.from(secretOf(key))), {
    algorithm: 'HS256',
    subject: sub,
    issuer,
    audience,
    expiresIn: Number(count) * unitSeconds,
  });
  process.stdout.write(`${token}\n`);
}

function misused(cause: string): Error {
  return new Error(`${cause}\n${USAGE}`);
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
