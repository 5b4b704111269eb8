import type { Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import { type Field, firstBlock } from '../../../bench/load/hpack.js';
import { FrameConnection } from '../../support/frame-connection.js';
import { DATA, grpcHead, HEADERS, socketTo } from '../../support/http2-frames.js';

/** The largest frame that a server accepts by default. */
const FRAME_BYTES = 16_384;
/** The most bytes queued for a server that does not read, before the client pauses. */
const BACKLOG_BYTES = 1024 * 1024;

/** The number of connections that the service closed, and of its responses of any kind. */
export const seen = { closed: 0, answered: 0 };

/** Opens a connection and ignores its errors. @param secure whether the server has TLS */
export function open(target: string, secure = false): Socket {
  const [host, port] = target.split(':');
  const socket = secure
    ? connectSecurely({ host, port: Number(port), rejectUnauthorized: false, ALPNProtocols: ['h2'] })
    : socketTo(target);
  return socket
    .on('error', () => undefined)
    .on('close', () => {
      seen.closed++;
    });
}

/** A client that breaks the rules: it sends whatever it is told to, and responds only to pings and settings. */
export class RudeConnection extends FrameConnection {
  readonly #socket: Socket;

  constructor(target: string, values: Readonly<Record<number, number>> = {}, secure = false) {
    const socket = open(target, secure);
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
