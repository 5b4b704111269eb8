import { createSecretKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import jwt from 'jsonwebtoken';
import { isSubject } from '../auth/claims.js';
import { readScopes, readTokens } from '../settings/config.js';
import { localSecret } from '../settings/local-secret.js';
import { secretsIn } from '../settings/token-values.js';
import type { TokenConfig, TokenKey } from '../settings/tokens.js';
import type { Terminal } from './terminal.js';

/** A number and its unit: seconds, minutes, hours or days. */
const TTL = /^([1-9]\d{0,5})([smhd])$/;
const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

const OPTIONS = {
  scope: { type: 'string' },
  sub: { type: 'string' },
  ttl: { type: 'string', default: '1h' },
  help: { type: 'boolean', short: 'h' },
} as const;

/**
 * Prints a token, signed with the configured or the local secret, to stdout, and the secret's origin to stderr.
 *
 * @param args the command line, without the program
 * @returns the exit code: 0, or 1 after a message on stderr
 */
export function signToken(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  { stdout, stderr }: Terminal,
): number {
  try {
    const scopes = Object.values<string>({ ...readScopes(env) });
    const usage = `Usage: npm run --silent token -- --scope "${scopes.join(' ')}" --sub NAME [--ttl 1h]`;
    const request = readTokenRequest(args, env, scopes, usage);
    if (request === undefined) {
      stdout.write(`${usage}\n`);
      return 0;
    }
    const config = readTokens(env);
    const { secret, from } = signingSecretOf(config.key);
    const token = tokenFor(request, config, secret);
    stderr.write(`Signed with ${from}.\n`);
    stdout.write(`${token}\n`);
    return 0;
  } catch (error) {
    stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

/** The contents of the token to create. */
interface TokenRequest {
  /** Scopes that methods require, separated by spaces. */
  readonly scope: string;
  readonly sub: string;
  readonly ttlSeconds: number;
}

function tokenFor(
  { scope, sub, ttlSeconds }: TokenRequest,
  { issuers: [issuer = ''], audiences: [audience = ''], scopeClaims }: TokenConfig,
  secret: string,
): string {
  return jwt.sign(claimWithScopes(scopeClaims, scope), createSecretKey(Buffer.from(secret)), {
    algorithm: 'HS256',
    subject: sub,
    issuer,
    audience,
    expiresIn: ttlSeconds,
  });
}

/** The first of the claims that the service reads scopes from, with these scopes. */
function claimWithScopes([claim]: TokenConfig['scopeClaims'], scope: string): object {
  const inside = (claim?.path ?? []).reduceRight<unknown>((value, member) => ({ [member]: value }), scope);
  return inside as object;
}

/**
 * Parses the command line.
 *
 * @param known the scopes that methods require
 * @param usage how to run the program
 * @returns undefined if it has `--help`
 * @throws Error that says what is wrong, and how to run the program
 */
function readTokenRequest(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  known: readonly string[],
  usage: string,
): TokenRequest | undefined {
  const usageError = (cause: string): Error => new Error(`${cause}\n${usage}`);
  const kept = keptByNpm(args, env);
  if (kept.length > 0)
    throw usageError(`npm has kept ${kept.join(' and ')} for itself: write -- before them.`);
  const { scope = '', sub, ttl, help } = parseArgs({ args, options: OPTIONS }).values;
  if (help === true) return undefined;
  const scopes = scope.split(' ').filter((word) => word !== '');
  if (scopes.length === 0) throw usageError('--scope is missing.');
  const unread = scopes.find((name) => !known.includes(name));
  if (unread !== undefined) {
    const allowed = known.join(' and ');
    throw usageError(`No method asks for the scope ${JSON.stringify(unread)}; there are ${allowed}.`);
  }
  if (sub === undefined) throw usageError('--sub is missing.');
  if (!isSubject(sub)) throw usageError('--sub must have 1 to 255 characters, and no control characters.');
  const [, count, unit = ''] = TTL.exec(ttl) ?? [];
  const unitSeconds = UNIT_SECONDS[unit];
  if (unitSeconds === undefined)
    throw usageError('--ttl must be a whole number from 1 to 999999 followed by s, m, h or d, such as 1h.');
  return { scope, sub, ttlSeconds: Number(count) * unitSeconds };
}

/** The options that npm has kept: without `--`, npm takes them as its own settings and passes them on as variables. */
function keptByNpm(args: readonly string[], env: NodeJS.ProcessEnv): string[] {
  return Object.keys(OPTIONS)
    .filter((name) => env[`npm_config_${name}`] !== undefined)
    .map((name) => `--${name}`)
    .filter((option) => !args.some((arg) => arg === option || arg.startsWith(`${option}=`)));
}

/** The signing secret, and a description of its origin. @throws Error when the service has only public keys */
function signingSecretOf(key: TokenKey): { readonly secret: string; readonly from: string } {
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
