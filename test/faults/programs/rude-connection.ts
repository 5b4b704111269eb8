import { connect, type Socket } from 'node:net';
import { type Field, firstBlock } from '../../../bench/load/hpack.js';
import {
  ACK,
  DATA,
  END_HEADERS,
  frame,
  FrameReader,
  HEADERS,
  PING,
  PREFACE,
  SETTINGS,
  settings,
} from './frames.js';

/** The largest frame that a server takes by default. */
const FRAME_BYTES = 16_384;
/** So much may wait on this side for a server that does not read; then the client pauses. */
const BACKLOG_BYTES = 1024 * 1024;

/** What the service did: connections that it closed, and answers that it gave, in whatever words. */
export const seen = { closed: 0, answered: 0 };

/** Opens a connection of which nothing is expected. */
export function open(target: string): Socket {
  const { hostname, port } = new URL(`http://${target}`);
  const socket = connect(Number(port), hostname).setNoDelay();
  return socket
    .on('error', () => undefined)
    .on('close', () => {
      seen.closed++;
    });
}

/** A client that follows none of the rules: it sends whatever it is told, and answers only pings and settings. */
export class RudeConnection {
  readonly socket: Socket;
  readonly #reader = new FrameReader();
  #nextStream = 1;

  constructor(target: string, values: Readonly<Record<number, number>> = {}) {
    this.socket = open(target);
    this.socket.on('data', (chunk: Buffer) => {
      for (const { type, flags, payload } of this.#reader.read(chunk)) {
        if (type === SETTINGS && (flags & ACK) === 0) this.send(SETTINGS, ACK, 0, Buffer.alloc(0));
        if (type === PING && (flags & ACK) === 0) this.send(PING, ACK, 0, payload);
        if (type === HEADERS) seen.answered++;
      }
    });
    this.socket.write(PREFACE);
    this.send(SETTINGS, 0, 0, settings(values));
  }

  get usable(): boolean {
    return this.socket.writable && this.socket.writableLength < BACKLOG_BYTES;
  }

  send(type: number, flags: number, stream: number, payload: Buffer): void {
    if (this.socket.writable) this.socket.write(frame(type, flags, stream, payload));
  }

  begin(path: string, fields: readonly Field[] = []): number {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    const block = firstBlock([
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', path],
      [':authority', 'service'],
      ['te', 'trailers'],
      ['content-type', 'application/grpc'],
      ...fields,
    ]);
    this.send(HEADERS, END_HEADERS, stream, block);
    return stream;
  }

  data(stream: number, bytes: Buffer, flags = 0): void {
    for (let at = 0; at < bytes.length; at += FRAME_BYTES) {
      const last = at + FRAME_BYTES >= bytes.length;
      this.send(DATA, last ? flags : 0, stream, bytes.subarray(at, at + FRAME_BYTES));
    }
  }
}
