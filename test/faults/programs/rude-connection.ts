import type { Socket } from 'node:net';
import { type Field, firstBlock } from '../../../bench/load/hpack.js';
import { FrameConnection } from '../../support/frame-connection.js';
import { DATA, grpcHead, HEADERS, socketTo } from '../../support/http2-frames.js';

/** The largest frame that a server takes by default. */
const FRAME_BYTES = 16_384;
/** So much may wait on this side for a server that does not read; then the client pauses. */
const BACKLOG_BYTES = 1024 * 1024;

/** Counts of the connections that the service closed, and of the answers that it gave, in whatever words. */
export const seen = { closed: 0, answered: 0 };

/** Opens a connection of which nothing is expected. */
export function open(target: string): Socket {
  return socketTo(target)
    .on('error', () => undefined)
    .on('close', () => {
      seen.closed++;
    });
}

/** A client that follows none of the rules: it sends whatever it is told, and answers only pings and settings. */
export class RudeConnection extends FrameConnection {
  readonly #socket: Socket;

  constructor(target: string, values: Readonly<Record<number, number>> = {}) {
    const socket = open(target);
    super(socket, values, ({ type }) => {
      if (type === HEADERS) seen.answered++;
    });
    this.#socket = socket;
  }

  get usable(): boolean {
    return this.#socket.writable && this.#socket.writableLength < BACKLOG_BYTES;
  }

  call(path: string, fields: readonly Field[] = []): number {
    return this.begin(firstBlock([...grpcHead(path), ...fields]));
  }

  data(stream: number, bytes: Buffer, flags = 0): void {
    for (let at = 0; at < bytes.length; at += FRAME_BYTES) {
      const last = at + FRAME_BYTES >= bytes.length;
      this.send(DATA, last ? flags : 0, stream, bytes.subarray(at, at + FRAME_BYTES));
    }
  }
}
