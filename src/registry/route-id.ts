import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

const RANDOM_BYTES = 16;
/** Random bytes for many ids at a time: a system call for each id would cost more than the rest of its generation. */
const random = new Uint8Array(256 * RANDOM_BYTES);
let used = random.length;

/**
 * A new UUIDv7 (RFC 9562) in canonical lower case.
 *
 * @param nowMs its time, in milliseconds since the epoch
 */
export function newRouteId(nowMs: number): string {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  const begin = used;
  used += RANDOM_BYTES;
  return v7({ msecs: nowMs, random: random.subarray(begin, used) });
}
