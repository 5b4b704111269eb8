import { type Refusal, tokenInvalid } from './auth-result.js';
import { isJsonObject, type JsonObject } from './compact-jwt.js';

/** A claim of a token, which may be inside objects. */
export interface NamedClaim {
  /** The claim's name in messages. */
  readonly name: string;
  /** The names of the members that lead to the claim, outermost first. */
  readonly path: readonly string[];
}

/** The claims that hold a token's audience and scopes. */
export interface ClaimNames {
  /** The claim that stands in for an absent `aud`; default: none. */
  readonly audienceClaim?: NamedClaim | undefined;
  /** The claims whose values are the caller's scopes. */
  readonly scopeClaims: readonly NamedClaim[];
}

/** What the claims of a token say. */
export interface Claims {
  readonly sub: string;
  /** Seconds since the epoch. */
  readonly exp: number;
  /** The claim that holds the audiences, as a message names it. */
  readonly audienceClaim: string;
  readonly audiences: readonly string[];
  readonly scopes: ReadonlySet<string>;
}

/** The largest number of seconds from the epoch that a Date can hold (ECMA-262, section 21.4.1.1). */
const FURTHEST_SECOND = 8.64e12;
/** 1 to 255 characters (OpenID Connect Core 1.0, section 2), none of which a log or store cannot represent. */
const SUBJECT = /^[^\p{Cc}\p{Cs}]{1,255}$/u;

interface ClaimRule {
  readonly name: string;
  readonly required: boolean;
  readonly allows: (value: unknown) => boolean;
  /** Describes the allowed values, to follow "is not". */
  readonly wanted: string;
}

/** RFC 7519, section 4.1. */
const RULES: readonly ClaimRule[] = [
  { name: 'iss', required: true, allows: isString, wanted: 'a string' },
  {
    name: 'sub',
    required: true,
    allows: isSubject,
    wanted: 'a string of 1 to 255 characters without control characters',
  },
  { name: 'exp', required: true, allows: isNumericDate, wanted: 'a NumericDate' },
  { name: 'nbf', required: false, allows: isNumericDate, wanted: 'a NumericDate' },
];

const AUD: NamedClaim = { name: 'aud', path: ['aud'] };

/**
 * Reads the claims that the service uses, and no others. A claim of the wrong type is not ignored but invalidates the
 * token: its issuer meant something that this service does not understand.
 */
export function readClaims(
  payload: JsonObject,
  { audienceClaim, scopeClaims }: ClaimNames,
): Claims | Refusal {
  for (const { name, required, allows, wanted } of RULES) {
    const value = payload[name];
    if (value === undefined) {
      if (required) return tokenInvalid(`The token has no ${name} claim.`);
    } else if (!allows(value)) {
      return wrongType(name, wanted);
    }
  }
  const { sub, exp } = payload as unknown as Pick<Claims, 'sub' | 'exp'>;
  const ofAudience = valueAt(payload, AUD) === undefined ? (audienceClaim ?? AUD) : AUD;
  const audiences = valueAt(payload, ofAudience);
  if (audiences === undefined) return tokenInvalid(noAudience(audienceClaim));
  if (!isOneOrMoreStrings(audiences)) return wrongType(ofAudience.name, STRINGS);
  const scopes = new Set<string>();
  for (const claim of scopeClaims) {
    const value = valueAt(payload, claim) ?? [];
    if (!isOneOrMoreStrings(value)) return wrongType(claim.name, STRINGS);
    for (const scope of isString(value) ? splitScopes(value) : value) scopes.add(scope);
  }
  return { sub, exp, audienceClaim: ofAudience.name, audiences: [audiences].flat(), scopes };
}

const STRINGS = 'a string or an array of strings';

function wrongType(name: string, wanted: string): Refusal {
  return tokenInvalid(`The token's ${name} claim is not ${wanted}.`);
}

function noAudience(standIn: NamedClaim | undefined): string {
  if (standIn === undefined) return 'The token has no aud claim.';
  return `The token has no aud claim, and no ${standIn.name} claim in its place.`;
}

/** The value of a claim; undefined where a member on the path to it is missing or is in something else than an object. */
function valueAt(payload: JsonObject, { path }: NamedClaim): unknown {
  let value: unknown = payload;
  for (const member of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, member)) return undefined;
    value = value[member];
  }
  return value;
}

/** RFC 6749, section 3.3: separated by spaces, in any order. */
function splitScopes(scope: string): string[] {
  return scope.split(' ').filter((token) => token !== '');
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}

function isOneOrMoreStrings(value: unknown): value is string | readonly string[] {
  return isString(value) || (Array.isArray(value) && value.every(isString));
}

/** Whether the value can be the `sub` of a token. */
export function isSubject(value: unknown): boolean {
  return isString(value) && SUBJECT.test(value);
}

function isNumericDate(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) <= FURTHEST_SECOND;
}
