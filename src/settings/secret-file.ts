/** The shortest HMAC secret, in bytes: as long as the hash of HS256 (RFC 7518, section 3.2). */
export const SECRET_MIN_BYTES = 32;
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
