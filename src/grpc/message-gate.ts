import { constants, type ServerHttp2Stream } from 'node:http2';
import { WholeMessages } from './whole-messages.js';

/** A second message ends a call that has only one. */
const MOST_OF_UNARY = 2;
/** What grpc-js keeps about each message that waits for its handler, beyond its bytes. */
const WAITING_BYTES = 256;
/** The first byte of a message, at which grpc-js's decoder drops the one before. */
const NEXT_MESSAGE = Buffer.alloc(1);

type Read = (bytes: Buffer) => void;

/**
 * Hands each message on to grpc-js once it is whole. grpc-js itself would keep its pieces, each of which keeps all that
 * Node has read from the connection at the same time: 64 KiB for a byte.
 */
export class MessageGates {
  readonly #maxMessageBytes: number;
  #arriving: ServerHttp2Stream | undefined;

  /** @param maxMessageBytes the largest message; grpc-js refuses a larger one when it sees its length */
  constructor(maxMessageBytes: number) {
    this.#maxMessageBytes = maxMessageBytes;
  }

  /** Takes each stream, before grpc-js creates its call. */
  arrive(stream: ServerHttp2Stream): void {
    this.#arriving = stream;
  }

  /** Gates the call that grpc-js is creating, which it does in its listener for the stream. */
  gateUnary(): void {
    this.#gate((read) => {
      let messages = 0;
      return (message) => {
        messages += 1;
        if (messages > MOST_OF_UNARY) return;
        read(messages === 1 ? message : message.subarray(NEXT_MESSAGE.length));
        // The decoder would keep its pieces for the whole call.
        if (messages === 1) read(NEXT_MESSAGE);
      };
    });
  }

  /**
   * The same for a streaming call, which is reset when more bytes of messages wait for its handler than one message may
   * have.
   *
   * @returns to be called when the handler has read a message
   */
  gateStreaming(): () => void {
    const waiting: number[] = [];
    let bytes = 0;
    this.#gate((read, stream) => {
      stream.on('end', () => {
        read(NEXT_MESSAGE);
      });
      return (message) => {
        // grpc-js reads nothing from a closed stream.
        if (bytes > this.#maxMessageBytes) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
        waiting.push(message.length);
        bytes += message.length + WAITING_BYTES;
        read(message);
      };
    });
    return () => {
      bytes -= (waiting.shift() ?? 0) + WAITING_BYTES;
    };
  }

  #gate(readerOf: (read: Read, stream: ServerHttp2Stream) => Read): void {
    const stream = this.#arriving;
    const [listener] = stream?.listeners('data') ?? [];
    if (stream === undefined || listener === undefined) return;
    const messages = new WholeMessages(this.#maxMessageBytes, readerOf(listener as Read, stream));
    stream.removeAllListeners('data').on('data', (chunk: Buffer) => {
      messages.add(chunk);
      // grpc-js pauses after each message, and what comes then would be kept in pieces.
      if (stream.isPaused()) stream.resume();
    });
  }
}
