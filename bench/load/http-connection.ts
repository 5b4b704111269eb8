import { connect, type Socket } from 'node:net';
import { draftOf, idOf } from '../stored-routes.js';
import type { Call, Load } from './load.js';
import { nextCreate } from './request-ids.js';

const COLLECTION = '/v1/routing';

/** A caller with its own HTTP/1.1 connection. */
export function httpCall({ target, operation, token }: Load): Call {
  const connection = new HttpConnection(target);
  const head = `host: ${target}\r\nauthorization: Bearer ${token}\r\n`;
  if (operation === 'get') {
    return (n) => connection.send(`GET ${COLLECTION}/${idOf(n)} HTTP/1.1\r\n${head}\r\n`);
  }
  return (n) => {
    const next = nextCreate(operation, n);
    const body = JSON.stringify(draftOf(next.n));
    const key = next.requestId === '' ? '' : `idempotency-key: ${next.requestId}\r\n`;
    const content = `${key}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
    return connection.send(`POST ${COLLECTION} HTTP/1.1\r\n${head}${content}\r\n${body}`);
  };
}

/** The minimum of HTTP/1.1 that it takes to send a request and check that its response is complete and 2xx. */
class HttpConnection {
  readonly #socket: Socket;
  #received = '';
  #answered: (() => void) | undefined;
  #failed: ((error: Error) => void) | undefined;

  constructor(target: string) {
    const { hostname, port } = new URL(`http://${target}`);
    // Latin-1 maps each byte to one character, so that string lengths compare with content-length.
    this.#socket = connect(Number(port), hostname).setNoDelay().setEncoding('latin1');
    this.#socket.on('data', (text: string) => {
      this.#receive(text);
    });
    this.#socket.on('error', (error) => this.#failed?.(error));
    this.#socket.on('close', () => this.#failed?.(new Error('The server closed the connection.')));
  }

  send(request: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#answered = resolve;
      this.#failed = reject;
      this.#socket.write(request);
    });
  }

  #receive(text: string): void {
    this.#received += text;
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd === -1) return;
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(this.#received)?.[1] ?? Number.NaN);
    if (this.#received.length < headEnd + 4 + length) return;
    const answer = this.#received;
    this.#received = '';
    if (answer.startsWith('HTTP/1.1 2') && answer.length === headEnd + 4 + length) this.#answered?.();
    else this.#failed?.(new Error(`The server answered: ${answer}`));
  }
}
