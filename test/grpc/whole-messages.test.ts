import { describe, expect, it } from 'vitest';
import { WholeMessages } from '../../src/grpc/whole-messages.js';
import { framed } from '../support/http2-call.js';

const MAX_BYTES = 1_000;
/** As much as Node reads from a connection at once. */
const READ_BYTES = 65_536;

const FIRST = framed(Buffer.from('first'));
const EMPTY = framed(Buffer.alloc(0));
const LARGEST = framed(Buffer.alloc(MAX_BYTES, 'l'));
const ALL = Buffer.concat([FIRST, EMPTY, LARGEST, FIRST]);

/** The messages in a stream whose chunks have so many bytes, each a part of its own of what was read. */
function messagesIn(bytes: Buffer, chunkBytes: number): Buffer[] {
  const taken: Buffer[] = [];
  const messages = new WholeMessages(MAX_BYTES, (message) => taken.push(message));
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    const read = Buffer.alloc(READ_BYTES);
    const length = bytes.copy(read, 0, at, at + chunkBytes);
    messages.add(read.subarray(0, length));
  }
  return taken;
}

describe('messages are cut out of a stream', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 500, ALL.length])('whose chunks have %d bytes', (chunkBytes) => {
    expect(messagesIn(ALL, chunkBytes)).toEqual([FIRST, EMPTY, LARGEST, FIRST]);
  });

  it('and nothing is copied of one that comes in one chunk', () => {
    const taken: Buffer[] = [];
    new WholeMessages(MAX_BYTES, (message) => taken.push(message)).add(FIRST);
    expect(taken[0]).toBe(FIRST);
  });
});

it('a message that comes in pieces keeps none of the memory into which they were read', () => {
  const [message] = messagesIn(LARGEST, 1);
  expect(message?.buffer.byteLength).toBe(LARGEST.length);
});

it.each([1, 3, 5, 2_000])(
  'of a message that is too large, in chunks of %d bytes, only the prefix is taken, and nothing after it',
  (chunkBytes) => {
    const tooLarge = framed(Buffer.alloc(MAX_BYTES + 1));
    const bytes = Buffer.concat([FIRST, tooLarge, FIRST]);
    expect(messagesIn(bytes, chunkBytes)).toEqual([FIRST, tooLarge.subarray(0, 5)]);
  },
);
