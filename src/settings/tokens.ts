import type { Database } from './database-url.js';
import type { SettingsReader } from './reader.js';
import { type SettingName, SETTINGS } from './table.js';

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

const KEYS = ['JWT_SECRET', 'JWT_SECRET_FILE', 'JWT_PUBLIC_KEY_FILE', 'JWT_JWKS_URL'] as const;
const TOKEN_SETTINGS = (Object.keys(SETTINGS) as SettingName[]).filter((name) => name.startsWith('JWT_'));

/** Which tokens to accept. */
export type TokenConfig = ReturnType<typeof tokensOf>;

/** Whether the service generates its own secret: no token setting is set, and the database is the embedded database. */
export function isLocalMode(settings: SettingsReader, { engine }: Database): boolean {
  return engine === 'sqlite' && !TOKEN_SETTINGS.some((name) => settings.isGiven(name));
}

/** Reads which tokens to accept; adds any problems to the reader. */
export function tokensOf(settings: SettingsReader, database: Database) {
  const key = keyOf(settings);
  if (!isLocalMode(settings, database)) {
    const count = KEYS.filter((name) => settings.isGiven(name)).length;
    if (count !== 1)
      settings.problems.push(
        `Exactly one of JWT_SECRET, JWT_SECRET_FILE, JWT_PUBLIC_KEY_FILE and JWT_JWKS_URL must be set; got ${count || 'none'}.`,
      );
    if (!settings.isGiven('JWT_ISSUER'))
      settings.refuse('JWT_ISSUER', 'must be the iss of every token; got none.');
    if (!settings.isGiven('JWT_AUDIENCE'))
      settings.refuse('JWT_AUDIENCE', 'must be the aud of every token; got none.');
  }
  return {
    key,
    /** The issuers whose tokens are accepted; at least one. */
    issuers: settings.get('JWT_ISSUER') ?? [LOCAL_PARTY],
    /** The audiences of which a token must name one; at least one. */
    audiences: settings.get('JWT_AUDIENCE') ?? [LOCAL_PARTY],
    /** The claim that stands in for an absent `aud`; undefined for none. */
    audienceClaim: settings.get('JWT_AUDIENCE_CLAIM'),
    /** The claims whose values are the caller's scopes; at least one. */
    scopeClaims: settings.get('JWT_SCOPE_CLAIMS'),
    scopes: scopesOf(settings),
  } as const;
}

/** Reads the scopes that permit each kind of call; adds any problems to the reader. */
export function scopesOf(settings: SettingsReader) {
  const scopes = { read: settings.get('JWT_READ_SCOPE'), write: settings.get('JWT_WRITE_SCOPE') } as const;
  if (settings.text('JWT_READ_SCOPE') === settings.text('JWT_WRITE_SCOPE'))
    settings.refuseValue('JWT_WRITE_SCOPE', 'must differ from JWT_READ_SCOPE');
  return scopes;
}

function keyOf(settings: SettingsReader): TokenKey {
  const secret = settings.get('JWT_SECRET');
  const secretFile = settings.get('JWT_SECRET_FILE');
  const publicKeyFile = settings.get('JWT_PUBLIC_KEY_FILE');
  const url = settings.get('JWT_JWKS_URL');
  // Node's fetch has no option for a single call, and with an agent of our own no proxy of the environment.
  if (url !== undefined && new URL(url).protocol === 'https:' && !settings.checksCertificates)
    settings.refuse(
      'JWT_JWKS_URL',
      'must be fetched from a server whose certificate is checked; got NODE_TLS_REJECT_UNAUTHORIZED=0, with which anybody could replace the keys.',
    );
  if (secret !== undefined) return { kind: 'secret', secret };
  if (secretFile !== undefined) return { kind: 'secretFile', file: secretFile };
  if (publicKeyFile !== undefined) return { kind: 'publicKeyFile', file: publicKeyFile };
  return url === undefined ? { kind: 'local', file: LOCAL_SECRET_FILE } : { kind: 'jwks', url };
}
