import type { Database } from './database-url.js';
import { SECRET_MIN_BYTES, secretsIn } from './secret-file.js';
import type { SettingsReader } from './settings.js';

/** The file that holds local mode's secret, and the issuer and audience of local mode's tokens. */
const LOCAL_SECRET_FILE = 'data/jwt-secret';
const LOCAL_PARTY = 'route-registry';

/** The key that verifies tokens. */
export type TokenKey =
  | { readonly kind: 'secret'; readonly secret: string }
  /** A file of secrets, which may change at any time. */
  | { readonly kind: 'secretFile'; readonly file: string }
  /** A file that holds a PEM, which may change at any time. */
  | { readonly kind: 'publicKeyFile'; readonly file: string }
  | { readonly kind: 'jwks'; readonly url: string }
  /** A secret that the service generates in this file. */
  | { readonly kind: 'local'; readonly file: string };

/** Which tokens to accept. */
export interface TokenConfig {
  readonly key: TokenKey;
  readonly issuer: string;
  readonly audience: string;
}

/** Reads which tokens to accept; adds any problems to the reader. */
export function tokensOf(settings: SettingsReader, database: Database): TokenConfig {
  const issuer = settings.given('JWT_ISSUER');
  const audience = settings.given('JWT_AUDIENCE');
  const given = [secretOf(settings), secretFileOf(settings), publicKeyOf(settings), jwksOf(settings)];
  const keys = given.filter((key) => key !== undefined);
  if (database.engine === 'sqlite' && keys.length === 0 && issuer === undefined && audience === undefined) {
    return { key: { kind: 'local', file: LOCAL_SECRET_FILE }, issuer: LOCAL_PARTY, audience: LOCAL_PARTY };
  }
  if (keys.length !== 1) {
    settings.problems.push(
      `Exactly one of JWT_SECRET, JWT_SECRET_FILE, JWT_PUBLIC_KEY_FILE and JWT_JWKS_URL must be set; got ${keys.length || 'none'}.`,
    );
  }
  if (issuer === undefined) settings.refuse('JWT_ISSUER', 'must be the iss of every token; got none.');
  if (audience === undefined) settings.refuse('JWT_AUDIENCE', 'must be the aud of every token; got none.');
  return {
    key: keys[0] ?? { kind: 'local', file: LOCAL_SECRET_FILE },
    issuer: issuer ?? '',
    audience: audience ?? '',
  };
}

function secretOf(settings: SettingsReader): TokenKey | undefined {
  const secret = settings.given('JWT_SECRET');
  if (secret === undefined) return undefined;
  const bytes = Buffer.byteLength(secret);
  if (bytes < SECRET_MIN_BYTES)
    settings.refuse('JWT_SECRET', `must be at least ${SECRET_MIN_BYTES} bytes; got ${bytes}.`);
  return { kind: 'secret', secret };
}

function secretFileOf(settings: SettingsReader): TokenKey | undefined {
  const file = settings.given('JWT_SECRET_FILE');
  if (file === undefined) return undefined;
  const content = settings.contentOf('JWT_SECRET_FILE');
  try {
    if (content !== undefined) secretsIn(content);
  } catch (error) {
    settings.refuse('JWT_SECRET_FILE', `names a file that cannot be used. ${(error as Error).message}`);
  }
  return { kind: 'secretFile', file };
}

function publicKeyOf(settings: SettingsReader): TokenKey | undefined {
  const file = settings.given('JWT_PUBLIC_KEY_FILE');
  if (file === undefined) return undefined;
  settings.contentOf('JWT_PUBLIC_KEY_FILE');
  return { kind: 'publicKeyFile', file };
}

function jwksOf(settings: SettingsReader): TokenKey | undefined {
  const url = settings.given('JWT_JWKS_URL');
  if (url === undefined) return undefined;
  if (!/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : ''))
    settings.refuse('JWT_JWKS_URL', 'must be an http or https URL; got another form.');
  return { kind: 'jwks', url };
}
