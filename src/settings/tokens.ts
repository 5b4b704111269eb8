import type { Database } from './database-url.js';
import { type SettingName, SETTINGS, type SettingsReader } from './reader.js';

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

/** A claim, by a plain name or a JSON Pointer. */
export interface ClaimName {
  /** As in the setting. */
  readonly name: string;
  /** The names of the members that lead to the claim, outermost first; at least one. */
  readonly path: readonly string[];
}

/** The scope that permits each kind of call. */
export interface Scopes {
  readonly read: string;
  readonly write: string;
}

/** Which tokens to accept. */
export interface TokenConfig {
  readonly key: TokenKey;
  /** A token is of one of them; at least one. */
  readonly issuers: readonly string[];
  /** A token names one of them; at least one. */
  readonly audiences: readonly string[];
  /** The claim that stands in for an absent `aud`; undefined for none. */
  readonly audienceClaim: ClaimName | undefined;
  /** The claims whose values are the caller's scopes; at least one. */
  readonly scopeClaims: readonly ClaimName[];
  readonly scopes: Scopes;
}

const TOKEN_SETTINGS = (Object.keys(SETTINGS) as SettingName[]).filter((name) => name.startsWith('JWT_'));

/** Whether the service generates its own secret: no token setting is set, and the database is the embedded one. */
export function isLocalMode(settings: SettingsReader, { engine }: Database): boolean {
  return engine === 'sqlite' && TOKEN_SETTINGS.every((name) => settings.given(name) === undefined);
}

/** Reads which tokens to accept; adds any problems to the reader. */
export function tokensOf(settings: SettingsReader, database: Database): TokenConfig {
  const local: TokenKey = { kind: 'local', file: LOCAL_SECRET_FILE };
  const audienceClaim = audienceClaimOf(settings);
  const permissions = { scopeClaims: scopeClaimsOf(settings), scopes: scopesOf(settings) };
  if (isLocalMode(settings, database))
    return { key: local, issuers: [LOCAL_PARTY], audiences: [LOCAL_PARTY], audienceClaim, ...permissions };
  const issuers = settings.list('JWT_ISSUER');
  const audiences = settings.list('JWT_AUDIENCE');
  const given = [secretOf(settings), secretFileOf(settings), publicKeyOf(settings), jwksOf(settings)];
  const keys = given.filter((key) => key !== undefined);
  if (keys.length !== 1) {
    settings.problems.push(
      `Exactly one of JWT_SECRET, JWT_SECRET_FILE, JWT_PUBLIC_KEY_FILE and JWT_JWKS_URL must be set; got ${keys.length || 'none'}.`,
    );
  }
  if (issuers.length === 0) settings.refuse('JWT_ISSUER', 'must be the iss of every token; got none.');
  if (audiences.length === 0) settings.refuse('JWT_AUDIENCE', 'must be the aud of every token; got none.');
  const single = 'must be values separated by single commas';
  if (issuers.includes('')) settings.refuseValue('JWT_ISSUER', issuers.join(','), single);
  if (audiences.includes('')) settings.refuseValue('JWT_AUDIENCE', audiences.join(','), single);
  return { key: keys[0] ?? local, issuers, audiences, audienceClaim, ...permissions };
}

/** A plain name, or a JSON Pointer (RFC 6901, section 3), whose names may hold anything: 1 to 255 characters. */
const CLAIM_NAME = /^(?!.{256})(?:[^\s/][^\s]*|(?:\/(?:[^~/]|~[01])*)+)$/su;
const CLAIM_FORM =
  'a name without white space, or a JSON Pointer such as /resource_access/registry/roles, of at most 255 characters';

function audienceClaimOf(settings: SettingsReader): ClaimName | undefined {
  const name = settings.given('JWT_AUDIENCE_CLAIM');
  if (name === undefined) return undefined;
  if (!CLAIM_NAME.test(name)) settings.refuseValue('JWT_AUDIENCE_CLAIM', name, `must be ${CLAIM_FORM}`);
  return claimOf(name);
}

function scopeClaimsOf(settings: SettingsReader): ClaimName[] {
  const names = settings.list('JWT_SCOPE_CLAIMS');
  const wrong = names.find((name) => !CLAIM_NAME.test(name));
  if (wrong !== undefined)
    settings.refuseValue('JWT_SCOPE_CLAIMS', wrong, `must be claims separated by commas, each ${CLAIM_FORM}`);
  return names.map(claimOf);
}

function claimOf(name: string): ClaimName {
  if (!name.startsWith('/')) return { name, path: [name] };
  const steps = name.slice(1).split('/');
  return { name, path: steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~')) };
}

/** One scope-token (RFC 6749, section 3.3) of at most 255 characters. */
const SCOPE = /^[\x21\x23-\x5B\x5D-\x7E]{1,255}$/;

/** Reads the scopes that permit calls; adds any problems to the reader. */
export function scopesOf(settings: SettingsReader): Scopes {
  const scopeOf = (name: Extract<SettingName, `JWT_${string}_SCOPE`>): string => {
    const scope = settings.text(name);
    if (!SCOPE.test(scope))
      settings.refuseValue(
        name,
        scope,
        'must be one scope: 1 to 255 visible ASCII characters except quotation marks and backslashes',
      );
    return scope;
  };
  const scopes = { read: scopeOf('JWT_READ_SCOPE'), write: scopeOf('JWT_WRITE_SCOPE') };
  if (scopes.read === scopes.write)
    settings.refuseValue('JWT_WRITE_SCOPE', scopes.write, 'must differ from JWT_READ_SCOPE');
  return scopes;
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
  const protocol = URL.canParse(url) ? new URL(url).protocol : '';
  if (!/^https?:$/.test(protocol))
    settings.refuse('JWT_JWKS_URL', 'must be an http or https URL; got another form.');
  // Node's fetch has no option for a single call, and with an agent of our own no proxy of the environment.
  if (protocol === 'https:' && !settings.checksCertificates)
    settings.refuse(
      'JWT_JWKS_URL',
      'must be fetched from a server whose certificate is checked; got NODE_TLS_REJECT_UNAUTHORIZED=0, with which anybody could replace the keys.',
    );
  return { kind: 'jwks', url };
}

/** The shortest HMAC secret, in bytes: as long as the hash of HS256 (RFC 7518, section 3.2). */
const SECRET_MIN_BYTES = 32;
/** The most secrets in a file: each one is tried with every new token. */
const MAX_SECRETS = 16;

/**
 * The HMAC secrets in the content of a file: one per line, in UTF-8, without leading or trailing whitespace. Empty
 * lines are ignored. The first secret signs, all of them verify.
 *
 * @throws Error with one sentence, which holds no secret, unless there are 1 to 16 of at least 32 bytes each
 */
export function secretsIn(content: Buffer): string[] {
  const lines = content.toString().split('\n');
  const secrets = lines.map((line) => line.trim()).filter((line) => line !== '');
  const short = secrets.findIndex((secret) => Buffer.byteLength(secret) < SECRET_MIN_BYTES);
  if (short >= 0)
    throw new Error(
      `Secret ${short + 1} must be at least ${SECRET_MIN_BYTES} bytes; got ${Buffer.byteLength(secrets[short] ?? '')}.`,
    );
  if (secrets.length >= 1 && secrets.length <= MAX_SECRETS) return secrets;
  throw new Error(`It must hold 1 to ${MAX_SECRETS} secrets, one a line; got ${secrets.length}.`);
}
