/**
 * The longest request head that either server accepts, in bytes: the hard limit on metadata of gRPC implementations in
 * other languages, and Node's default for HTTP/1.1.
 */
export const HEAD_MAX_BYTES = 16_384;

/** The overhead of each header beyond its name and value, in bytes (RFC 9113, section 6.5.2). */
const HEADER_BYTES = 32;

/**
 * Whether the headers of a call are too long, as SETTINGS_MAX_HEADER_LIST_SIZE counts them. Node itself enforces that
 * setting only once the client has acknowledged it, and a few bytes of HPACK can expand to half a megabyte.
 *
 * @param rawHeaders alternating names and values
 */
export function isTooLong(rawHeaders: readonly string[]): boolean {
  let bytes = (rawHeaders.length / 2) * HEADER_BYTES;
  for (const text of rawHeaders) bytes += text.length;
  return bytes > HEAD_MAX_BYTES;
}
