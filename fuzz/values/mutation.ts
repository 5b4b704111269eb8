import type { Random } from './random.js';

/**
 * Bytes with up to four changes: flipped, lost, repeated, moved or strange ones.
 *
 * @param dictionary byte sequences worth inserting in this format
 */
export function mutated(bytes: Buffer, random: Random, dictionary: readonly Buffer[]): Buffer {
  let result = bytes;
  for (let changes = random.between(1, 4); changes > 0; changes--)
    result = changed(result, random, dictionary);
  return result;
}

function changed(bytes: Buffer, random: Random, dictionary: readonly Buffer[]): Buffer {
  const at = random.below(bytes.length + 1);
  const end = Math.min(bytes.length, at + random.pick([1, 1, 2, 4, 9, 40]));
  const part = bytes.subarray(at, end);
  const around = (middle: Buffer, after = end): Buffer =>
    Buffer.concat([bytes.subarray(0, at), middle, bytes.subarray(after)]);
  switch (random.below(7)) {
    case 0:
      return around(Buffer.from(part.map((byte) => byte ^ (1 << random.below(8)))));
    case 1:
      return around(Buffer.alloc(0));
    case 2:
      return around(Buffer.concat(random.list(random.between(2, 5), () => part)));
    case 3:
      return around(random.bytes(random.between(1, 8)), at);
    case 4:
      return around(Buffer.alloc(part.length, random.pick([0x00, 0x0a, 0x20, 0x7f, 0xff])));
    case 5:
      return bytes.subarray(0, at);
    default:
      return around(random.pick(dictionary), random.percent(50) ? at : end);
  }
}

/** The same bytes in up to three pieces, so that a reader meets them cut anywhere. */
export function inPieces(bytes: Buffer, random: Random): Buffer[] {
  const cuts = random.list(random.pick([0, 0, 0, 1, 2]), () => random.below(bytes.length + 1));
  const edges = [0, ...cuts.sort((one, other) => one - other), bytes.length];
  return edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
}
