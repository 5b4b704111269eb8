import fc, { type Arbitrary } from 'fast-check';
import { at, bytesOf, place, weighted } from './draws.js';

type Change = (bytes: Buffer) => Buffer;

/**
 * One to four mutations: bytes are flipped, removed, repeated, inserted or overwritten, or the end is cut off.
 *
 * @param dictionary byte sequences worth inserting in this format
 */
export function mutation(dictionary: readonly Buffer[]): Arbitrary<Change> {
  const entry = fc.constantFrom(...dictionary);
  const part = fc.oneof<Arbitrary<Change>[]>(
    fc.nat(7).map((bit) => (old) => Buffer.from(old.map((byte) => byte ^ (1 << bit)))),
    fc.constant(() => Buffer.alloc(0)),
    fc.integer({ min: 2, max: 5 }).map((times) => (old) => Buffer.concat(Array<Buffer>(times).fill(old))),
    fc.oneof(bytesOf(1, 2, 4, 8), entry).map((added) => (old) => Buffer.concat([added, old])),
    fc.constantFrom(0x00, 0x0a, 0x20, 0x7f, 0xff).map((byte) => (old) => Buffer.alloc(old.length, byte)),
    entry.map((instead) => () => instead),
  );
  const partChange = fc
    .tuple(place, fc.constantFrom(1, 1, 2, 4, 9, 40), part)
    .map(([drawn, length, change]): Change => {
      return (bytes) => {
        const from = at(drawn, bytes.length + 1);
        const [before, old] = [bytes.subarray(0, from), bytes.subarray(from, from + length)];
        return Buffer.concat([before, change(old), bytes.subarray(from + length)]);
      };
    });
  const cut = place.map(
    (drawn): Change =>
      (bytes) =>
        bytes.subarray(0, at(drawn, bytes.length + 1)),
  );
  return fc
    .array(weighted([6, partChange], [1, cut]), { minLength: 1, maxLength: 4 })
    .map((changes) => (bytes) => changes.reduce((changed, change) => change(changed), bytes));
}

/** Splits bytes into up to three pieces at random positions. */
export const cutting: Arbitrary<(bytes: Buffer) => Buffer[]> = weighted<number[]>(
  [3, fc.constant([])],
  [2, fc.array(place, { minLength: 1, maxLength: 2 })],
).map((places) => (bytes) => {
  const cuts = places.map((drawn) => at(drawn, bytes.length + 1)).sort((one, other) => one - other);
  const edges = [0, ...cuts, bytes.length];
  return edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
});
