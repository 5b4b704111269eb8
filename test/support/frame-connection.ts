import type { Socket } from 'node:net';
import {
  ACK,
  type Frame,
  frame,
  FrameReader,
  HEADERS,
  END_HEADERS,
  PING,
  PREFACE,
  SETTINGS,
  settings,
} from './http2-frames.js';

/** A client's end of an HTTP/2 connection that sends just the frames it is told to; pings it answers. */
export class FrameConnection {
  readonly #socket: Socket;
  #nextStream = 1;
  #outgoing: Buffer[] = [];

  /**
   * @param values its settings, by their identifiers
   * @param onFrame gets each frame that comes
   * @param acknowledges whether it acknowledges the settings of the server, which hold only from then on
   */
  constructor(
    socket: Socket,
    values: Readonly<Record<number, number>>,
    onFrame: (frame: Frame) => void,
    acknowledges = true,
  ) {
    this.#socket = socket;
    const reader = new FrameReader();
    socket.on('data', (chunk: Buffer) => {
      for (const each of reader.read(chunk)) {
        const { type, flags, payload } = each;
        if (type === SETTINGS && (flags & ACK) === 0 && acknowledges)
          this.send(SETTINGS, ACK, 0, Buffer.alloc(0));
        if (type === PING && (flags & ACK) === 0) this.send(PING, ACK, 0, payload);
        onFrame(each);
      }
    });
    socket.write(PREFACE);
    this.send(SETTINGS, 0, 0, settings(values));
  }

  /** Sends a frame, unless the connection has ended. */
  send(type: number, flags: number, stream: number, payload: Buffer): void {
    // Writes of one turn of the event loop leave in one system call.
    if (this.#outgoing.length === 0) {
      process.nextTick(() => {
        if (this.#socket.writable) this.#socket.write(Buffer.concat(this.#outgoing));
        this.#outgoing = [];
      });
    }
    this.#outgoing.push(frame(type, flags, stream, payload));
  }

  /** Opens a stream with a block of header fields, and returns its number. */
  begin(block: Buffer): number {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    this.send(HEADERS, END_HEADERS, stream, block);
    return stream;
  }
}
