import cluster from 'node:cluster';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Gateway } from '../gateway/gateway.js';
import type { FollowedTls, TlsMaterial } from './followed-tls.js';

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
  readonly #connections = new Map<Duplex, ServerResponse | undefined>();
  /** The sockets under all connections with TLS, also under those whose handshake is not complete. */
  readonly #underTls = new Set<Socket>();
  #closing = false;

  constructor(gateway: Gateway, limits: HttpLimits, tls?: FollowedTls) {
    const { maxConnections, deadlineMs, httpIdleMs, headMs = 10_000, lastResortMs = 5_000 } = limits;
    const requestMs = headMs + deadlineMs + lastResortMs;
    this.#gateway = gateway;
    const onRequest = this.#accepting(gateway.onRequest);
    const options = {
      // Node would answer a request without a host by itself, in a shape of its own.
      requireHostHeader: false,
      maxHeaderSize: HEAD_MAX_BYTES,
      headersTimeout: headMs,
      requestTimeout: requestMs,
      keepAliveTimeout: httpIdleMs,
      connectionsCheckingInterval: CHECK_MS,
    };
    this.#server =
      tls === undefined
        ? createServer(options, onRequest)
        : this.#secured({ ...options, handshakeTimeout: headMs }, onRequest, tls);
    this.#server
      .on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
        this.#connections.set(socket, undefined);
        socket.once('close', () => this.#connections.delete(socket));
      })
      .on('clientError', (error, socket) => {
        // Without a handshake, there is nobody to answer.
        if (this.#connections.has(socket)) gateway.onClientError(error, socket);
        else socket.destroy();
      })
      .on('connect', gateway.onConnect)
      .on('checkContinue', this.#accepting(gateway.onCheckContinue))
      // Node would answer an expectation that it does not know by itself; RFC 9110 lets a server ignore it.
      .on('checkExpectation', onRequest);
    if (cluster.isWorker) endFurther(this.#server, maxConnections);
    else this.#server.maxConnections = maxConnections;
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

  #secured(options: ServerOptions, onRequest: RequestListener, tls: FollowedTls): Server {
    const server = createSecureServer({ ...options, ...identityOf(tls) }, onRequest);
    tls.onRenewed(() => {
      server.setSecureContext(identityOf(tls));
    });
    return server.on('connection', (socket: Socket) => {
      this.#underTls.add(socket);
      socket.once('close', () => this.#underTls.delete(socket));
    });
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
    // Handshakes that are not complete end once nothing else is open; Node bounds their time until then.
    if (this.#connections.size === 0) for (const socket of this.#underTls) socket.destroy();
  }
}

/** Starts an HTTP server and returns it with its real port. @throws Error when the address cannot be had */
export async function startHttpServer(
  gateway: Gateway,
  host: string,
  port: number,
  limits: HttpLimits,
  tls?: FollowedTls,
): Promise<{ server: HttpServer; port: number }> {
  const server = new HttpServer(gateway, limits, tls);
  return { server, port: await server.listen(host, port) };
}

/** Among workers, Node would hand a connection beyond `maxConnections` from one to the next for ever. */
function endFurther(server: Server, maxConnections: number): void {
  let open = 0;
  server.on('connection', (socket: Socket) => {
    open++;
    socket.once('close', () => open--);
    if (open > maxConnections) socket.destroy();
  });
}

/** Clients of this face need no certificate, so their authorities are left out. */
function identityOf({ latest }: FollowedTls): TlsMaterial {
  return { ...latest, ca: undefined };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
