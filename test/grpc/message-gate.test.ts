import { constants } from 'node:http2';
import { expect, it, onTestFinished } from 'vitest';
import { firstBlock } from '../../bench/load/hpack.js';
import { FrameConnection } from '../support/frame-connection.js';
import { ECHO, openDoor } from '../support/grpc-door.js';
import { framed } from '../support/http2-call.js';
import {
  DATA,
  END_STREAM,
  type Frame,
  grpcHead,
  HEADERS,
  RST_STREAM,
  socketTo,
} from '../support/http2-frames.js';

/** Sends a message byte by byte, and resolves with how its stream ends. */
async function endOf(bytes: number): Promise<Frame> {
  const { address } = await openDoor();
  const socket = socketTo(address).on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  return new Promise((resolve) => {
    const connection = new FrameConnection(socket, {}, (frame) => {
      const { type, flags } = frame;
      if (type === RST_STREAM || (type === HEADERS && (flags & END_STREAM) !== 0)) resolve(frame);
    });
    const stream = connection.begin(firstBlock(grpcHead(ECHO)));
    const whole = framed(Buffer.alloc(bytes));
    for (const [at, byte] of whole.entries()) {
      connection.send(DATA, at === whole.length - 1 ? END_STREAM : 0, stream, Buffer.of(byte));
    }
  });
}

it('a message may come in a thousand pieces', async () => {
  expect(await endOf(1_000)).toMatchObject({ type: HEADERS });
});

it('the stream of a message that comes in more pieces than any client has reason to send is reset', async () => {
  const { type, payload } = await endOf(1_100);
  expect({ type, code: payload.readUInt32BE() }).toEqual({
    type: RST_STREAM,
    code: constants.NGHTTP2_ENHANCE_YOUR_CALM,
  });
});
