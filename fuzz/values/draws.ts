import { createHash } from 'node:crypto';
import fc, { type Arbitrary } from 'fast-check';

/** A value that the same numbers always repeat. The extremes that fast-check prefers come as often as others. */
export function drawn<T>(arbitrary: Arbitrary<T>, ...numbers: readonly number[]): T {
  const seed = createHash('sha256').update(numbers.join('/')).digest().readInt32LE();
  const [one] = fc.sample(fc.noBias(arbitrary), { seed, numRuns: 1 });
  return one as T;
}

/** One of these arbitraries, with its share of all weights. */
export function weighted<T>(
  ...choices: readonly (readonly [weight: number, arbitrary: Arbitrary<T>])[]
): Arbitrary<T> {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

/** True in so many of a hundred cases. */
export function percent(share: number): Arbitrary<boolean> {
  return fc.nat(99).map((drawn) => drawn < share);
}

/** A list of one of these lengths. */
export function listOf<T>(lengths: readonly number[], item: Arbitrary<T>): Arbitrary<T[]> {
  return fc.oneof(...lengths.map((length) => fc.array(item, { minLength: length, maxLength: length })));
}

/** Random bytes, of which there are one of these numbers. */
export function bytesOf(...lengths: readonly number[]): Arbitrary<Buffer> {
  return listOf(lengths, fc.nat(255)).map((bytes) => Buffer.from(bytes));
}

/** A whole number for `at`. */
export const place = fc.nat(2 ** 31 - 1);

/** A place drawn anywhere, brought into something of so many places. */
export function at(drawn: number, places: number): number {
  return drawn % Math.max(1, places);
}

/** The words of a text: long lists of short values, a line of them at a time. */
export function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
