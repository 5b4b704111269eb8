/**
 * The longest head of a request to either server, in bytes: gRPC's hard limit on metadata in other languages, and Node's
 * default for HTTP/1.1.
 */
export const HEAD_MAX_BYTES = 16_384;

/** What each header counts beyond its name and value (RFC 9113, section 6.5.2). */
const HEADER_BYTES = 32;

/**
 * Whether the headers of a call are too long, as SETTINGS_MAX_HEADER_LIST_SIZE counts them. Node itself refuses them only
 * when the client has acknowledged that setting, and a few bytes of HPACK expand to half a megabyte.
 *
 * @param rawHeaders names and values in turn
 */
export function isTooLong(rawHeaders: readonly string[]): boolean {
  let bytes = (rawHeaders.length / 2) * HEADER_BYTES;
  for (const text of rawHeaders) bytes += text.length;
  return bytes > HEAD_MAX_BYTES;
}
