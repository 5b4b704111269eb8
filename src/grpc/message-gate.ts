import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';

/** A message of gRPC over HTTP/2 begins with a flag and its length in four bytes. */
const PREFIX_BYTES = 5;
/** The messages that may begin in one chunk: grpc-js unpacks them all at once, before anything can pause it. */
const MOST = 16;
/** The same for compressed messages, of which a few bytes expand to the largest message. */
const MOST_COMPRESSED = 2;
const NEXT_MESSAGE = Buffer.alloc(1);
/** The pieces in which a message may come: grpc-js keeps each in a buffer of its own, of a hundred bytes and more. */
const MOST_PIECES = 1_024;

/**
 * Resets a stream that sends more messages at once, or one message in more pieces, than any client has reason to.
 *
 * @param streams whether the call may have more than one message
 */
export function limitRequest(
  stream: ServerHttp2Stream,
  { 'grpc-encoding': encoding }: IncomingHttpHeaders,
  streams: boolean,
): void {
  const compressed = encoding !== undefined && encoding !== 'identity';
  // A second message ends any other call.
  if (streams || encoding !== undefined) limitMessages(stream, compressed ? MOST_COMPRESSED : MOST);
  if (!streams) limitPieces(stream);
}

function limitMessages(stream: ServerHttp2Stream, most: number): void {
  let prefixed = 0;
  let length = 0;
  stream.on('data', (chunk: Buffer) => {
    let begun = 0;
    for (let at = 0; at < chunk.length && begun <= most;) {
      if (prefixed < PREFIX_BYTES) {
        if (prefixed === 0) begun += 1;
        else length = length * 256 + chunk.readUInt8(at);
        prefixed += 1;
        at += 1;
      } else {
        const skipped = Math.min(length, chunk.length - at);
        length -= skipped;
        at += skipped;
      }
      if (prefixed === PREFIX_BYTES && length === 0) prefixed = 0;
    }
    // grpc-js reads nothing from a closed stream.
    if (begun > most) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });
  stream.on('end', () => {
    // grpc-js's decoder keeps a message's bytes until the next message begins: here, for the whole call.
    if (prefixed === 0) stream.emit('data', NEXT_MESSAGE);
  });
}

function limitPieces(stream: ServerHttp2Stream): void {
  let pieces = 0;
  stream.on('data', () => {
    pieces += 1;
    if (pieces > MOST_PIECES) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });
}
