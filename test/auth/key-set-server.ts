import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An issuer's HTTP server on loopback that publishes a JSON Web Key Set. */
export class KeySetServer {
  readonly #server: Server;
  #answer: RequestListener = () => undefined;
  /** The number of requests so far. */
  requests = 0;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.requests++;
      this.#answer(request, response);
    });
  }

  /** Starts a server on a free port that publishes the given keys. */
  static async start(...keys: object[]): Promise<KeySetServer> {
    const started = new KeySetServer();
    started.publish(...keys);
    await started.listen(0);
    return started;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/jwks.json`;
  }

  publish(...keys: object[]): void {
    this.answer((_, response) =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys })),
    );
  }

  /** Replaces the response to every request. */
  answer(listener: RequestListener): void {
    this.#answer = listener;
  }

  async listen(port: number): Promise<void> {
    await once(this.#server.listen(port, '127.0.0.1'), 'listening');
  }

  /** Closes the server and its connections, if it is running. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}
