import { type Caller, type Refusal, tokenInvalid } from './auth-result.js';
import type { JsonObject } from './compact-jwt.js';

/** The claims that the service uses, each of the right type. */
export interface Claims {
  readonly iss: string;
  readonly aud: string | readonly string[];
  readonly sub: string;
  /** Seconds since the epoch, like `nbf`. */
  readonly exp: number;
  readonly nbf?: number;
  readonly scope?: string;
  readonly scp?: string | readonly string[];
}

/** The largest number of seconds from the epoch that a Date can hold (ECMA-262, section 21.4.1.1). */
const FURTHEST_SECOND = 8.64e12;
/** 1 to 255 characters (OpenID Connect Core 1.0, section 2), none of which a log or store cannot represent. */
const SUBJECT = /^[^\p{Cc}\p{Cs}]{1,255}$/u;

interface ClaimRule {
  readonly name: keyof Claims;
  readonly required: boolean;
  readonly allows: (value: unknown) => boolean;
  /** Describes the allowed values, to follow "is not". */
  readonly wanted: string;
}

/** RFC 7519, section 4.1, and RFC 8693, section 4.2; some issuers use `scp` instead of `scope`. */
const RULES: readonly ClaimRule[] = [
  { name: 'iss', required: true, allows: isString, wanted: 'a string' },
  { name: 'aud', required: true, allows: isOneOrMoreStrings, wanted: 'a string or an array of strings' },
  {
    name: 'sub',
    required: true,
    allows: isSubject,
    wanted: 'a string of 1 to 255 characters without control characters',
  },
  { name: 'exp', required: true, allows: isNumericDate, wanted: 'a NumericDate' },
  { name: 'nbf', required: false, allows: isNumericDate, wanted: 'a NumericDate' },
  { name: 'scope', required: false, allows: isString, wanted: 'a string' },
  { name: 'scp', required: false, allows: isOneOrMoreStrings, wanted: 'a string or an array of strings' },
];

/**
 * Checks that all required claims are present and that all claims have the right type. A claim of the wrong type is not
 * ignored but invalidates the token: its issuer meant something that this service does not understand.
 */
export function readClaims(payload: JsonObject): Claims | Refusal {
  for (const { name, required, allows, wanted } of RULES) {
    const value = payload[name];
    if (value === undefined) {
      if (required) return tokenInvalid(`The token has no ${name} claim.`);
    } else if (!allows(value)) {
      return tokenInvalid(`The token's ${name} claim is not ${wanted}.`);
    }
  }
  return payload as unknown as Claims;
}

/** The caller that the claims describe. */
export function callerOf({ sub, scope = '', scp = [] }: Claims): Caller {
  const scopes = [...splitScopes(scope), ...(typeof scp === 'string' ? splitScopes(scp) : scp)];
  return { subject: sub, scopes: new Set(scopes) };
}

/** RFC 6749, section 3.3: separated by spaces, in any order. */
function splitScopes(scope: string): string[] {
  return scope.split(' ').filter((token) => token !== '');
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}

function isOneOrMoreStrings(value: unknown): boolean {
  return isString(value) || (Array.isArray(value) && value.every(isString));
}

/** Whether the value can be the `sub` of a token. */
export function isSubject(value: unknown): boolean {
  return isString(value) && SUBJECT.test(value);
}

function isNumericDate(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) <= FURTHEST_SECOND;
}
