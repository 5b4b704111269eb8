import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { httpAnswers } from './http-answers.js';

/** A valid request, which gets exactly one response. */
interface SoundRequest {
  readonly pieces: readonly Buffer[];
  /** Whether the response has no body, whatever its Content-Length. */
  readonly isHead: boolean;
  /** Aborts the request and its connection. */
  readonly signal: AbortSignal;
}

/** The time within which every valid HTTP/1.1 request gets a response, in milliseconds, even on a busy machine. */
const ANSWER_MS = 20_000;

/** A pool of keep-alive connections to the REST gateway for valid requests. */
export class RestConnections {
  readonly #host: string;
  readonly #port: number;
  readonly #idle = new Set<Socket>();
  /** The number of connections that received data that belongs to no request. */
  unasked = 0;

  /** @param target `host:port` */
  constructor(target: string) {
    const { hostname, port } = new URL(`http://${target}`);
    this.#host = hostname;
    this.#port = Number(port);
  }

  /** Sends a request. Returns the bytes received until the response is complete or the connection has ended. */
  async exchange(request: SoundRequest): Promise<Buffer> {
    for (const socket of this.#idle) {
      this.#idle.delete(socket);
      const received = await this.#exchangeOn(socket, request);
      if (received.length > 0) return received;
      // The service may close an idle connection at the moment of its reuse.
      break;
    }
    return this.#exchangeOn(this.#connect(), request);
  }

  close(): void {
    for (const socket of this.#idle) socket.destroy();
  }

  #connect(): Socket {
    const socket = connect({ host: this.#host, port: this.#port, noDelay: true });
    return socket
      .on('error', () => undefined)
      .on('timeout', () => socket.destroy())
      .on('data', () => {
        if (!this.#idle.delete(socket)) return;
        this.unasked++;
        socket.destroy();
      })
      .on('close', () => this.#idle.delete(socket));
  }

  #exchangeOn(socket: Socket, { pieces, isHead, signal }: SoundRequest): Promise<Buffer> {
    let received: Buffer = Buffer.alloc(0);
    let sent = false;
    return new Promise((resolve) => {
      const cut = (): void => void socket.destroy();
      const end = (inOrder: boolean): void => {
        socket.off('data', onData).off('close', onClose).setTimeout(0);
        signal.removeEventListener('abort', cut);
        if (inOrder) this.#idle.add(socket);
        else socket.destroy();
        resolve(received);
      };
      const onData = (chunk: Buffer): void => {
        received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
        const { answers, rest } = httpAnswers(received, isHead);
        const [answer] = answers;
        // After `Connection: close`, wait until the service closes the connection.
        if (answer !== undefined && answer.headers.get('connection') !== 'close')
          end(sent && rest.length === 0);
      };
      const onClose = (): void => {
        end(false);
      };
      socket.on('data', onData).once('close', onClose).setTimeout(ANSWER_MS);
      signal.addEventListener('abort', cut);
      void writeAll(socket, pieces).then(() => (sent = true));
      if (socket.destroyed) onClose();
    });
  }
}

async function writeAll(socket: Socket, pieces: readonly Buffer[]): Promise<void> {
  for (const [index, piece] of pieces.entries()) {
    if (index > 0) await sleep(1);
    socket.write(piece);
  }
}
