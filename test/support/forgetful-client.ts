import { once } from 'node:events';
import { FrameConnection } from './frame-connection.js';
import {
  DATA,
  DEFAULT_WINDOW,
  END_STREAM,
  type Frame,
  GOAWAY,
  HEADERS,
  RST_STREAM,
  SETTINGS,
  ACK,
  socketTo,
  WINDOW_UPDATE,
} from './http2-frames.js';

/** The calls of a client. */
interface ForgetfulCalls {
  /** The block of header fields with which each begins. */
  readonly block: Buffer;
  /** What each sends. */
  readonly body: Buffer;
  readonly calls: number;
  /** How many it makes at once: as many as it may. */
  readonly streams: number;
}

/** The ends of the calls: how many were answered, and the errors with which streams and the connection were ended. */
interface Ends {
  answered: number;
  readonly resets: number[];
  readonly goaways: number[];
}

/**
 * Makes calls on one connection as grpc-go does: a client that sees the answer to a call forgets what the connection's
 * window has kept it from sending of the request, ends the stream neither with END_STREAM nor with RST_STREAM, and makes
 * the next call at once.
 */
export async function callForgetfully(
  address: string,
  { block, body, calls, streams }: ForgetfulCalls,
): Promise<Ends> {
  const ends: Ends = { answered: 0, resets: [], goaways: [] };
  const unsent = new Map<number, Buffer>();
  let window = DEFAULT_WINDOW;
  let begun = 0;
  const send = (): void => {
    for (const [stream, rest] of unsent) {
      const bytes = Math.min(window, 16_384, rest.length);
      if (bytes === 0) break;
      window -= bytes;
      connection.send(DATA, bytes === rest.length ? END_STREAM : 0, stream, rest.subarray(0, bytes));
      unsent.delete(stream);
      if (bytes < rest.length) unsent.set(stream, rest.subarray(bytes));
    }
    if (window > 0 && unsent.size > 0) send();
  };
  const begin = (): void => {
    if (begun === calls) return;
    begun += 1;
    unsent.set(connection.begin(block), body);
    send();
  };
  const socket = socketTo(address).on('error', () => undefined);
  const connection = new FrameConnection(socket, {}, ({ type, flags, stream, payload }: Frame) => {
    if (type === SETTINGS && (flags & ACK) === 0 && begun === 0) {
      for (let made = 0; made < streams; made++) begin();
    } else if (type === WINDOW_UPDATE && stream === 0) {
      window += payload.readUInt32BE();
      send();
    } else if (type === HEADERS && (flags & END_STREAM) !== 0) {
      ends.answered += 1;
      unsent.delete(stream);
      begin();
    } else if (type === RST_STREAM) {
      ends.resets.push(payload.readUInt32BE());
    } else if (type === GOAWAY) {
      ends.goaways.push(payload.readUInt32BE(4));
    }
    if (ends.answered === calls) socket.end();
  });
  await once(socket, 'close');
  return ends;
}
