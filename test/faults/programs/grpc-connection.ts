import type { Socket } from 'node:net';
import { type Field, firstBlock, repeatedBlock } from '../../../bench/load/hpack.js';
import { FrameConnection } from '../../support/frame-connection.js';
import {
  ACK,
  DATA,
  DEFAULT_WINDOW,
  END_STREAM,
  type Frame,
  GOAWAY,
  HEADER_TABLE_SIZE,
  HEADERS,
  INITIAL_WINDOW_SIZE,
  MAX_CONCURRENT_STREAMS,
  MAX_WINDOW,
  number,
  REFUSED_STREAM,
  RST_STREAM,
  SETTINGS,
  settingsIn,
  socketTo,
  WINDOW_UPDATE,
} from '../../support/http2-frames.js';
import { CONNECTION_LOST, STREAM_REFUSED, STREAM_RESET } from './load-result.js';

const MAX_MESSAGE_BYTES = 1_024;
/** `grpc-status` in HPACK's Huffman code, as every nghttp2 server sends it. */
const GRPC_STATUS = Buffer.from('9acac8b21234da8f', 'hex');

/**
 * The part of HTTP/2 that unary calls need under overload. It respects the connection's window and, unless it is
 * heedless, the server's stream limit, even when that changes. A full client would use more CPU than the server under
 * test.
 */
export class GrpcConnection {
  readonly #socket: Socket;
  readonly #connection: FrameConnection;
  readonly #repeated: Buffer;
  readonly #heedless: boolean;
  readonly #open = new Map<number, (status: number) => void>();
  #block: Buffer;
  /** 0 before the server's settings arrive; infinite for a heedless connection. */
  #maxStreams: number;
  #window = DEFAULT_WINDOW;

  /**
   * @param onRoom called when there may be room for calls that had to wait
   * @param heedless whether the connection never acknowledges the server's settings, and ignores the stream limit
   */
  constructor(target: string, fields: readonly Field[], onRoom: () => void, heedless = false) {
    this.#maxStreams = heedless ? Number.POSITIVE_INFINITY : 0;
    this.#heedless = heedless;
    this.#block = firstBlock(fields);
    this.#repeated = repeatedBlock(fields);
    this.#socket = socketTo(target);
    // Without a dynamic table, header blocks are independent, so a status is found without decoding all of them.
    const values = { [HEADER_TABLE_SIZE]: 0, [INITIAL_WINDOW_SIZE]: MAX_WINDOW };
    const receive = (each: Frame): void => {
      this.#receive(each);
    };
    this.#connection = new FrameConnection(this.#socket, values, receive, !heedless);
    this.#connection.send(WINDOW_UPDATE, 0, 0, number(MAX_WINDOW - DEFAULT_WINDOW));
    this.#socket
      .on('data', onRoom)
      .on('error', () => undefined)
      .on('close', () => {
        this.#lose();
      });
  }

  /** How many calls may be under way, as the server said last. */
  get maxStreams(): number {
    return this.#maxStreams;
  }

  /** Whether another call may be sent now, with a message of at most 1 KiB. */
  get hasRoom(): boolean {
    return this.#open.size < this.#maxStreams && this.#window >= MAX_MESSAGE_BYTES;
  }

  /** @param onEnd gets the gRPC status, or a code of load-result.ts for a call without one */
  call(message: Buffer, onEnd: (status: number) => void): void {
    const stream = this.#connection.begin(this.#block);
    this.#block = this.#repeated;
    this.#window -= message.length;
    this.#open.set(stream, onEnd);
    this.#connection.send(DATA, END_STREAM, stream, message);
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive({ type, flags, stream, payload }: Frame): void {
    if (type === SETTINGS && (flags & ACK) === 0) {
      if (this.#heedless) return;
      const limit = settingsIn(payload).get(MAX_CONCURRENT_STREAMS);
      if (limit !== undefined) this.#maxStreams = limit;
      // A server that announces no limit has none.
      else if (this.#maxStreams === 0) this.#maxStreams = Number.POSITIVE_INFINITY;
    } else if (type === WINDOW_UPDATE && stream === 0) this.#window += payload.readUInt32BE(0);
    else if (type === GOAWAY) this.#maxStreams = 0;
    else if (type === RST_STREAM) {
      this.#end(stream, payload.readUInt32BE(0) === REFUSED_STREAM ? STREAM_REFUSED : STREAM_RESET);
    } else if (type === HEADERS && (flags & END_STREAM) !== 0) this.#end(stream, statusIn(payload));
  }

  #end(stream: number, status: number): void {
    const onEnd = this.#open.get(stream);
    this.#open.delete(stream);
    onEnd?.(status);
  }

  #lose(): void {
    this.#maxStreams = 0;
    for (const stream of [...this.#open.keys()]) this.#end(stream, CONNECTION_LOST);
  }
}

/** The value of `grpc-status`: its length and plain digits, which a Huffman code would not shorten. */
export function statusIn(block: Buffer): number {
  const at = block.indexOf(GRPC_STATUS);
  if (at === -1) return STREAM_RESET;
  const lengthAt = at + GRPC_STATUS.length;
  return Number(block.toString('latin1', lengthAt + 1, lengthAt + 1 + (block[lengthAt] ?? 0)));
}
