import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { HEAD_MAX_BYTES } from './head-limit.js';
import { OpenSockets } from './open-sockets.js';
import type { FollowedTls, TlsMaterial } from './followed-tls.js';

/** How often the time limits of connections are checked, in milliseconds. */
const CHECK_MS = 500;
/** How often connections that have become idle are ended while the server closes, in milliseconds. */
const SWEEP_MS = 50;
/** How long clients may take for the responses that `onClose` brings, in milliseconds. */
const LAST_RESPONSE_MS = 1_000;

/** The limits of connections. */
export interface HttpLimits {
  /** Open connections; further ones are closed at once. */
  readonly maxConnections: number;
  /** The time limit of one call with its body, which `onRequest` enforces, in milliseconds. */
  readonly deadlineMs: number;
  /** How long a connection may wait for its next request, in milliseconds; at least a second. */
  readonly httpIdleMs: number;
  /** How long the head of a request may take, in milliseconds. Default: 10,000. */
  readonly headMs?: number;
  /** The time that a request may take beyond its head and its deadline, in milliseconds. Default: 5,000. */
  readonly lastResortMs?: number;
}

/** What answers the requests: the listeners of a `node:http` server, each named after its event. */
interface HttpAnswering {
  readonly onRequest: RequestListener;
  readonly onCheckContinue: RequestListener;
  readonly onClientError: (error: Error, socket: Duplex) => void;
  readonly onConnect: (request: IncomingMessage) => void;
  /** Answers the requests that are still arriving when the grace of a closing server is over. */
  readonly onClose: () => void;
}

/** A server of HTTP/1.1 with bounds on its connections. */
export class HttpServer {
  readonly #server: Server;
  readonly #onClose: () => void;
  /** The connections that can carry a response, with TLS after their handshake; each tells whether it is still silent. */
  readonly #ready = new Map<Duplex, () => boolean>();
  readonly #sockets = new OpenSockets();
  #closing = false;

  constructor(answering: HttpAnswering, limits: HttpLimits, tls?: FollowedTls) {
    const { maxConnections, deadlineMs, httpIdleMs, headMs = 10_000, lastResortMs = 5_000 } = limits;
    const requestMs = headMs + deadlineMs + lastResortMs;
    this.#onClose = answering.onClose;
    const onRequest = this.#accepting(answering.onRequest);
    const options = {
      // Otherwise Node itself would answer a request without a host, in its own format.
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
        : secured({ ...options, handshakeTimeout: headMs }, onRequest, tls);
    this.#server
      .on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
        const { bytesRead } = socket;
        this.#ready.set(socket, () => socket.bytesRead === bytesRead);
        socket.once('close', () => this.#ready.delete(socket));
      })
      .on('clientError', (error, socket) => {
        // Without a handshake, no reply can be sent.
        if (this.#ready.has(socket)) answering.onClientError(error, socket);
        else socket.destroy();
      })
      .on('connect', answering.onConnect)
      .on('checkContinue', this.#accepting(answering.onCheckContinue))
      // Otherwise Node itself would answer an unknown expectation; RFC 9110 lets a server ignore it.
      .on('checkExpectation', onRequest);
    this.#server.maxConnections = maxConnections;
    this.#sockets.follow(this.#server);
    // With a limit, Node would silently drop further headers. Their total size limits their number.
    this.#server.maxHeadersCount = 0;
    // Ends the connection of a client that has requests in progress and does not read the responses.
    this.#server.timeout = requestMs;
  }

  /** Returns the actual port. @throws Error when it cannot listen on the address */
  async listen(host: string, port: number): Promise<number> {
    await once(this.#server.listen(port, host), 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  /**
   * Accepts no further connections, and ends each one with its last response. After `graceMs`, it has the requests that
   * are still arriving answered, and a second later it ends the connections that are left.
   */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    // Requests that have arrived on idle connections are read first: closing those would reset them.
    await turn();
    await turn();
    const sweep = setInterval(() => {
      this.#server.closeIdleConnections();
      this.#destroySilent();
    }, SWEEP_MS);
    let end = setTimeout(() => {
      this.#onClose();
      end = setTimeout(() => {
        this.#sockets.destroy();
      }, LAST_RESPONSE_MS);
    }, graceMs);
    await new Promise((resolve) => this.#server.close(resolve));
    clearInterval(sweep);
    clearTimeout(end);
  }

  /** Ends the connections on which nothing has been sent yet: to Node, they are not idle. */
  #destroySilent(): void {
    for (const [socket, isSilent] of this.#ready) if (isSilent()) socket.destroy();
  }

  #accepting(listener: RequestListener): RequestListener {
    return (request, response) => {
      if (this.#closing) response.setHeader('Connection', 'close');
      listener(request, response);
    };
  }
}

function secured(options: ServerOptions, onRequest: RequestListener, tls: FollowedTls): Server {
  const server = createSecureServer({ ...options, ...identityOf(tls) }, onRequest);
  tls.onRenewed(() => {
    server.setSecureContext(identityOf(tls));
  });
  return server;
}

/** HTTP clients need no certificate, so the authorities of clients are left out. */
function identityOf({ latest }: FollowedTls): TlsMaterial {
  return { ...latest, ca: undefined };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
