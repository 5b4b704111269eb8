import { status } from '@grpc/grpc-js';

/** The most bytes of a response message, as every gRPC library has it by default. */
export const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
/** Before each message: a byte that says whether it is compressed, and its length in four. */
export const PREFIX_BYTES = 5;

/** Why the body of a response is not one message. */
export interface BadBody {
  readonly code: status;
  readonly details: string;
}

/** A message with its prefix (gRPC over HTTP/2, Length-Prefixed-Message), not compressed. */
export function framed(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  return frame;
}

/** The one message in the body of a unary response, or why there is none. */
export function onlyMessage(body: Buffer): Uint8Array | BadBody {
  if (body.length === 0) return bad('The server sent no message.');
  if (body.length < PREFIX_BYTES) return bad('The response ends within the prefix of a message.');
  if (body[0] !== 0) return bad('The message is compressed in a way that nobody offered.');
  const end = PREFIX_BYTES + body.readUInt32BE(1);
  if (body.length < end) return bad('The response ends within a message.');
  if (body.length > end) return bad('The server sent more than one message.');
  return body.subarray(PREFIX_BYTES);
}

function bad(details: string): BadBody {
  return { code: status.INTERNAL, details };
}
