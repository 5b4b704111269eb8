import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Gateway } from '../gateway/gateway.js';

/** The largest head of a request, in bytes. */
const HEAD_MAX_BYTES = 16_384;
/** How often the times of connections are checked, in milliseconds. */
const CHECK_MS = 500;
/** How long a request that is on its way when the server closes may take to arrive, in milliseconds. */
const ARRIVAL_MS = 250;
/** How often connections that have become idle are closed while the server closes, in milliseconds. */
const SWEEP_MS = 50;

/** The bounds on connections. */
export interface HttpLimits {
  /** Open connections; further ones are closed at once. */
  readonly maxConnections: number;
  /** The longest time of one call with its body, which the gateway keeps, in milliseconds. */
  readonly deadlineMs: number;
  /** How long a connection may wait for its next request, in milliseconds; at least a second. */
  readonly httpIdleMs: number;
  /** How long the head of a request may take, in milliseconds. Default: 10,000. */
  readonly headMs?: number;
  /** How much longer than its head and its deadline a request may take, in milliseconds. Default: 5,000. */
  readonly lastResortMs?: number;
}

/** The HTTP server of a gateway. */
export class HttpServer {
  readonly #server: Server;
  readonly #gateway: Gateway;
  /** The open connections, each with the response to its latest request. */
  readonly #connections = new Map<Socket, ServerResponse | undefined>();
  #closing = false;

  constructor(gateway: Gateway, limits: HttpLimits) {
    const { maxConnections, deadlineMs, httpIdleMs, headMs = 10_000, lastResortMs = 5_000 } = limits;
    const requestMs = headMs + deadlineMs + lastResortMs;
    this.#gateway = gateway;
    const onRequest = this.#accepting(gateway.onRequest);
    this.#server = createServer(
      {
        // Node would answer a request without a host by itself, in a shape of its own.
        requireHostHeader: false,
        maxHeaderSize: HEAD_MAX_BYTES,
        headersTimeout: headMs,
        requestTimeout: requestMs,
        keepAliveTimeout: httpIdleMs,
        connectionsCheckingInterval: CHECK_MS,
      },
      onRequest,
    )
      .on('connection', (socket) => {
        this.#connections.set(socket, undefined);
        socket.once('close', () => this.#connections.delete(socket));
      })
      .on('clientError', gateway.onClientError)
      .on('connect', gateway.onConnect)
      .on('checkContinue', this.#accepting(gateway.onCheckContinue))
      // Node would answer an expectation that it does not know by itself; RFC 9110 lets a server ignore it.
      .on('checkExpectation', onRequest);
    this.#server.maxConnections = maxConnections;
    // With a limit, Node would drop further headers without a word. Their size bounds their number.
    this.#server.maxHeadersCount = 0;
    // Ends the connection of a client that has requests under way and reads no answer.
    this.#server.timeout = requestMs;
  }

  /** Returns the real port. @throws Error when the address cannot be had */
  async listen(host: string, port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject).listen(port, host, () => {
        this.#server.removeListener('error', reject);
        resolve();
      });
    });
    return (this.#server.address() as AddressInfo).port;
  }

  /**
   * Accepts no further connection, and ends each one with its last answer. Requests that are still arriving have a
   * quarter of a second; the others are ended after `graceMs`.
   */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    // What has arrived on idle connections is read first: closing them would reset it.
    await turn();
    await turn();
    let arrived = false;
    const sweep = setInterval(() => {
      if (arrived) this.#endUnasked();
      else this.#server.closeIdleConnections();
    }, SWEEP_MS);
    const arrival = setTimeout(() => {
      arrived = true;
      this.#gateway.endUploads();
    }, ARRIVAL_MS);
    const grace = setTimeout(() => {
      this.#server.closeAllConnections();
    }, graceMs);
    try {
      await new Promise((resolve) => this.#server.close(resolve));
    } finally {
      clearInterval(sweep);
      clearTimeout(arrival);
      clearTimeout(grace);
      this.#server.closeAllConnections();
    }
  }

  #accepting(listener: RequestListener): RequestListener {
    return (request, response) => {
      this.#connections.set(request.socket, response);
      if (this.#closing) response.setHeader('Connection', 'close');
      listener(request, response);
    };
  }

  /** Ends also those that Node does not count as idle: they have sent nothing yet, or a part of a head. */
  #endUnasked(): void {
    for (const [socket, response] of this.#connections) {
      if (response === undefined || response.closed) socket.destroy();
    }
  }
}

/** Starts an HTTP server and returns it with its real port. @throws Error when the address cannot be had */
export async function startHttpServer(
  gateway: Gateway,
  host: string,
  port: number,
  limits: HttpLimits,
): Promise<{ server: HttpServer; port: number }> {
  const server = new HttpServer(gateway, limits);
  return { server, port: await server.listen(host, port) };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
