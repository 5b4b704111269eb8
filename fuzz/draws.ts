import fc, { type Arbitrary } from 'fast-check';

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
