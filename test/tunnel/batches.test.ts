import { describe, expect, it } from 'vitest';
import { batches } from '../../src/tunnel/batches.js';

const MIB = 1024 * 1024;

function lengths(...items: number[]): number[][] {
  const messages = items.map((length) => ({ message: new Uint8Array(length) }));
  return [...batches(messages)].map((batch) => batch.map(({ message }) => message.length));
}

describe('the batches of what is to be sent', () => {
  it.each<[title: string, items: number[], batches: number[][]]>([
    ['nothing', [], []],
    ['what fits into one', [1, 2, 3], [[1, 2, 3]]],
    ['just a MiB', [MIB - 1, 1], [[MIB - 1, 1]]],
    ['more than a MiB', [MIB - 1, 2, 3], [[MIB - 1], [2, 3]]],
    ['a message larger than a MiB', [1, 2 * MIB, 3], [[1], [2 * MIB], [3]]],
    ['64 messages', Array<number>(64).fill(0), [Array<number>(64).fill(0)]],
    ['65 messages', Array<number>(65).fill(0), [Array<number>(64).fill(0), [0]]],
  ])('keep the order and the limits: %s', (_, items, expected) => {
    expect(lengths(...items)).toEqual(expected);
  });
});
