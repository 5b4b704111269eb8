import { status } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';
import { firstBlock } from '../../bench/load/hpack.js';
import { FrameConnection } from '../support/frame-connection.js';
import { connectTo, ECHO, openDoor } from '../support/grpc-door.js';
import { framed, outcomeOf, requestOn } from '../support/http2-call.js';
import { DATA, END_STREAM, type Frame, grpcHead, HEADERS, socketTo } from '../support/http2-frames.js';

const MESSAGE = framed(Buffer.alloc(3_000, 'm'));

/** Sends a message in pieces of so many bytes, and resolves with the answer's. */
async function echoOf(pieceBytes: number): Promise<Buffer> {
  const { address } = await openDoor();
  const socket = socketTo(address).on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  const answer: Buffer[] = [];
  return new Promise((resolve) => {
    const connection = new FrameConnection(socket, {}, ({ type, flags, payload }: Frame) => {
      if (type === DATA) answer.push(payload);
      if (type === HEADERS && (flags & END_STREAM) !== 0) resolve(Buffer.concat(answer));
    });
    const stream = connection.begin(firstBlock(grpcHead(ECHO)));
    for (let at = 0; at < MESSAGE.length; at += pieceBytes) {
      const last = at + pieceBytes >= MESSAGE.length;
      connection.send(DATA, last ? END_STREAM : 0, stream, MESSAGE.subarray(at, at + pieceBytes));
    }
  });
}

it.each([1, 7, 2_999])('a message may come in pieces of %d bytes', async (pieceBytes) => {
  expect(await echoOf(pieceBytes)).toEqual(MESSAGE);
});

it.each([2, 3, 5_000])('a call with %d messages in place of one is refused', async (count) => {
  const call = requestOn(connectTo(await openDoor()), ECHO).on('error', () => undefined);
  const outcome = outcomeOf(call);
  call.end(Buffer.concat(Array<Buffer>(count).fill(framed(Buffer.from('m')))));
  expect((await outcome).code).toBe(status.INVALID_ARGUMENT);
});
