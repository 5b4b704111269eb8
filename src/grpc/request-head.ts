/** The most bytes of all names and values in the head of a call: gRPC's hard limit of metadata in other languages. */
const HEAD_MAX_BYTES = 16_384;

/**
 * Whether the head of a call is longer than any that is taken. Node announces no limit, and a few bytes of HPACK unpack
 * to half a megabyte.
 *
 * @param rawHeaders names and values in turn
 */
export function isTooLong(rawHeaders: readonly string[]): boolean {
  let bytes = 0;
  for (const text of rawHeaders) bytes += text.length;
  return bytes > HEAD_MAX_BYTES;
}
