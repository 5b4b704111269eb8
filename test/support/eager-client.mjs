import { connect } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

/**
 * A client in a thread of its own that makes one call after the other on an HTTP/2 connection: as soon as a stream is
 * answered, it sends its last frame of that stream and the first one of the next, together.
 *
 * Posts how many calls were answered, and how many refused by a reset: all, or those before the server ended the
 * connection.
 */
const HEAD_BYTES = 9;
const [HEADERS, RST_STREAM, SETTINGS, GOAWAY] = [0x1, 0x3, 0x4, 0x7];
const NO_ERROR = 0;
const [ACK, END_STREAM] = [0x1, 0x1];

const { port, begin, acknowledge, first, last, calls } = workerData;
const socket = connect(port, '127.0.0.1').setNoDelay();
socket.on('error', () => undefined);
socket.write(begin);
let answered = 0;
let refused = 0;
let rest = Buffer.alloc(0);
socket
  .on('data', (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= HEAD_BYTES && rest.length >= HEAD_BYTES + rest.readUIntBE(0, 3)) {
      const [type, flags, stream] = [rest.readUInt8(3), rest.readUInt8(4), rest.readUInt32BE(5)];
      const refuses = type === RST_STREAM && rest.readUInt32BE(HEAD_BYTES) !== NO_ERROR;
      rest = rest.subarray(HEAD_BYTES + rest.readUIntBE(0, 3));
      if (type === SETTINGS && (flags & ACK) === 0) socket.write(Buffer.concat([acknowledge, of(first, 1)]));
      const isAnswered = type === HEADERS && (flags & END_STREAM) !== 0;
      if (isAnswered) answered++;
      if (refuses) refused++;
      const goesOn = answered + refused < calls;
      if (isAnswered && goesOn) socket.write(Buffer.concat([of(last, stream), of(first, stream + 2)]));
      if (refuses && goesOn) socket.write(of(first, stream + 2));
      if (type === GOAWAY || !goesOn) socket.destroy();
    }
  })
  .once('close', () => {
    parentPort.postMessage({ answered, refused });
  });

/** A frame, for this stream. */
function of(frame, stream) {
  const bytes = Buffer.from(frame);
  bytes.writeUInt32BE(stream, 5);
  return bytes;
}
