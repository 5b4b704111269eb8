import { isUtf8 } from 'node:buffer';
import type { NamedClaim } from '../auth/claims.js';
import { contentOf, type Kind, listOf, membersOf, textLike, unusableValue } from './kinds.js';

// The parts of `CLAIM_NAME`.
const PLAIN_NAME = /[^\s/]\S*/u;
/** RFC 6901, section 3. A name in it may hold any character, but no comma in a list of claims: that ends the claim. */
const POINTER = /(?:\/(?:[^~/]|~[01])*)+/u;
/** Of 1 to 255 characters. */
const CLAIM_NAME = new RegExp(`^(?!.{256})(?:${PLAIN_NAME.source}|${POINTER.source})$`, 'su');
const CLAIM_FORM =
  'a name without white space, or a JSON Pointer such as /resource_access/registry/roles, of at most 255 characters';
const claimNames = listOf(
  (name) => CLAIM_NAME.test(name),
  `must be claims separated by commas, each ${CLAIM_FORM}`,
);

/** Claims, each by a plain name or a JSON Pointer. */
export const claims: Kind<readonly NamedClaim[]> = (text) => claimNames(text).map(claimOf);

/** A claim, by a plain name or a JSON Pointer. */
export const claim: Kind<NamedClaim> = (text) => claimOf(textLike(CLAIM_NAME, `must be ${CLAIM_FORM}`)(text));

function claimOf(name: string): NamedClaim {
  if (!name.startsWith('/')) return { name, path: [name] };
  const steps = name.slice(1).split('/');
  return { name, path: steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~')) };
}

/** One scope-token (RFC 6749, section 3.3) of at most 255 characters. */
export const scope = textLike(
  /^[\x21\x23-\x5B\x5D-\x7E]{1,255}$/,
  'must be one scope: 1 to 255 visible ASCII characters except quotation marks and backslashes',
);

/** Issuers or audiences. */
export const parties: Kind<readonly string[]> = (text) => {
  const members = membersOf(text);
  if (members.includes(''))
    throw unusableValue(members.join(','), 'must be values separated by single commas');
  return members;
};

/** The shortest HMAC secret, in bytes: as long as the hash of HS256 (RFC 7518, section 3.2). */
const SECRET_MIN_BYTES = 32;
/** The most secrets in a file: each secret is tried with every new token. */
const MAX_SECRETS = 16;

/** An HMAC secret, which is not shown. */
export const secret: Kind<string> = (text) => {
  requireLength('', text);
  return text;
};

/** @param what begins the sentence that the error has */
function requireLength(what: string, text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes < SECRET_MIN_BYTES)
    throw new Error(`${what}must be at least ${SECRET_MIN_BYTES} bytes; got ${bytes}.`);
}

/** The name of a file of secrets. */
export const secretFile: Kind<string> = (name) => {
  const content = contentOf(name);
  try {
    secretsIn(content);
  } catch (error) {
    throw new Error(`names a file that cannot be used. ${(error as Error).message}`, { cause: error });
  }
  return name;
};

/**
 * The HMAC secrets in the content of a file: one per line, in UTF-8, without leading or trailing whitespace. Empty
 * lines are ignored. The first secret signs, all of them verify.
 *
 * @throws Error with one sentence, which holds no secret, unless there are 1 to 16 of at least 32 bytes each, in UTF-8
 */
export function secretsIn(content: Buffer): string[] {
  // Otherwise, all bytes that are not UTF-8 would become the same character.
  if (!isUtf8(content)) throw new Error('It must be in UTF-8.');
  const lines = content.toString().split('\n');
  const secrets = lines.map((line) => line.trim()).filter((line) => line !== '');
  for (const [index, line] of secrets.entries()) requireLength(`Secret ${index + 1} `, line);
  if (secrets.length >= 1 && secrets.length <= MAX_SECRETS) return secrets;
  throw new Error(`It must hold 1 to ${MAX_SECRETS} secrets, one a line; got ${secrets.length}.`);
}
