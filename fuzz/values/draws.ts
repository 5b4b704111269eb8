import { createHash } from 'node:crypto';
import fc, { type Arbitrary } from 'fast-check';

/** Draws the value that these numbers determine, without fast-check's bias towards extreme values. */
export function drawn<T>(arbitrary: Arbitrary<T>, ...numbers: readonly number[]): T {
  const seed = createHash('sha256').update(numbers.join('/')).digest().readInt32LE();
  const [one] = fc.sample(fc.noBias(arbitrary), { seed, numRuns: 1 });
  return one as T;
}

/** One of these arbitraries, with a probability in proportion to its weight. */
export function weighted<T>(
  ...choices: readonly (readonly [weight: number, arbitrary: Arbitrary<T>])[]
): Arbitrary<T> {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

/** True in this percentage of cases. */
export function percent(share: number): Arbitrary<boolean> {
  return fc.nat(99).map((drawn) => drawn < share);
}

/** A list with one of these lengths. */
export function listOf<T>(lengths: readonly number[], item: Arbitrary<T>): Arbitrary<T[]> {
  return fc.oneof(...lengths.map((length) => fc.array(item, { minLength: length, maxLength: length })));
}

/** Random bytes with one of these lengths. */
export function bytesOf(...lengths: readonly number[]): Arbitrary<Buffer> {
  return listOf(lengths, fc.nat(255)).map((bytes) => Buffer.from(bytes));
}

/** A random number for `at`. */
export const place = fc.nat(2 ** 31 - 1);

/** Maps a number drawn from `place` to an index below `places`. */
export function at(drawn: number, places: number): number {
  return drawn % Math.max(1, places);
}

/** Splits a text at whitespace: a compact notation for long lists of short values. */
export function words(text: string): string[] {
  return text.trim().split(/\s+/);
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
