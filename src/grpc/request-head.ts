/** The most bytes of all names and values in a call's headers: gRPC's hard limit on metadata in other languages. */
const HEAD_MAX_BYTES = 16_384;

/**
 * Whether the headers of a call are too long. Node announces no limit, and a few bytes of HPACK expand to half a
 * megabyte.
 *
 * @param rawHeaders names and values in turn
 */
export function isTooLong(rawHeaders: readonly string[]): boolean {
  let bytes = 0;
  for (const text of rawHeaders) bytes += text.length;
  return bytes > HEAD_MAX_BYTES;
}
