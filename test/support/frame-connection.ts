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

/** The client side of an HTTP/2 connection that sends only the given frames, besides ACKs of PING and SETTINGS. */
export class FrameConnection {
  readonly #socket: Socket;
  #nextStream = 1;
  #outgoing: Buffer[] = [];

  /**
   * @param values its settings, by identifier
   * @param onFrame is called with each received frame
   * @param acknowledges whether to acknowledge the server's settings, which take effect only then
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
      for (const received of reader.read(chunk)) {
        const { type, flags, payload } = received;
        if (type === SETTINGS && (flags & ACK) === 0 && acknowledges)
          this.send(SETTINGS, ACK, 0, Buffer.alloc(0));
        if (type === PING && (flags & ACK) === 0) this.send(PING, ACK, 0, payload);
        onFrame(received);
      }
    });
    socket.write(PREFACE);
    this.send(SETTINGS, 0, 0, settings(values));
  }

  /** Sends a frame, unless the connection has ended. */
  send(type: number, flags: number, stream: number, payload: Buffer): void {
    // All frames of one turn of the event loop go out in one system call.
    if (this.#outgoing.length === 0) {
      process.nextTick(() => {
        if (this.#socket.writable) this.#socket.write(Buffer.concat(this.#outgoing));
        this.#outgoing = [];
      });
    }
    this.#outgoing.push(frame(type, flags, stream, payload));
  }

  /** Opens a stream with a header block. Returns the stream identifier. */
  begin(block: Buffer): number {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    this.send(HEADERS, END_HEADERS, stream, block);
    return stream;
  }
}
