import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { framed, onlyMessage } from '../../src/gateway/grpc-framing.js';

describe('a framed message', () => {
  it('is a zero, the length in four bytes, and the message', () => {
    expect([...framed(new Uint8Array([9, 7, 8]).subarray(1))]).toEqual([0, 0, 0, 0, 2, 7, 8]);
  });

  it.each([0, 1, 300, 70_000])('comes back as it was: %i bytes', (length) => {
    const message = Buffer.alloc(length, 'm');
    expect(onlyMessage(framed(message))).toEqual(message);
  });
});

describe('the body of a response is refused as INTERNAL', () => {
  it.each([
    ['no message', []],
    ['a prefix that breaks off', [0, 0, 0, 0]],
    ['a message that breaks off', [0, 0, 0, 0, 2, 1]],
    ['a compressed message', [1, 0, 0, 0, 1, 1]],
    ['a flag that nobody defined', [2, 0, 0, 0, 1, 1]],
    ['two messages', [0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1]],
    ['a message and a byte', [0, 0, 0, 0, 1, 1, 0]],
  ])('with %s', (_, bytes) => {
    expect(onlyMessage(Buffer.from(bytes))).toMatchObject({ code: status.INTERNAL });
  });
});
