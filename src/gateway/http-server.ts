import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { HEAD_MAX_BYTES } from '../calls/call.js';
import type { FollowedTls, TlsMaterial } from '../files/followed-tls.js';
import type { Limits } from '../settings/config.js';
import type { Gateway } from './gateway.js';

/** How often the time limits of connections are checked, in milliseconds. */
const CHECK_MS = 500;
/** How often idle connections are ended while the server closes, in milliseconds. */
const SWEEP_MS = 50;
/** How long clients may take to read the responses that `onClose` sends, in milliseconds. */
const LAST_RESPONSE_MS = 1_000;

/**
 * The limits of connections: their number, the time limit of a call with its body, which `onRequest` enforces, and how
 * long a connection may wait for its next request, at least a second.
 */
export interface HttpLimits extends Pick<Limits, 'maxConnections' | 'deadlineMs' | 'httpIdleMs'> {
  /** How long the head of a request may take, in milliseconds. Default: 10,000. */
  readonly headMs?: number;
  /** The time that a request may take beyond its head and its deadline, in milliseconds. Default: 5,000. */
  readonly lastResortMs?: number;
}

/** An HTTP/1.1 server that limits its connections. */
export class HttpServer {
  readonly #server: Server;
  readonly #onClose: () => void;
  /** Connections that can carry a response (TLS: after the handshake), and whether each client has sent nothing yet. */
  readonly #ready = new Map<Duplex, () => boolean>();
  readonly #sockets: OpenSockets;
  #closing = false;

  constructor(gateway: Omit<Gateway, 'drain' | 'replyCache'>, limits: HttpLimits, tls?: FollowedTls) {
    const { maxConnections, deadlineMs, httpIdleMs, headMs = 10_000, lastResortMs = 5_000 } = limits;
    const requestMs = headMs + deadlineMs + lastResortMs;
    this.#onClose = gateway.onClose;
    const onRequest = this.#trackRequests(gateway.onRequest);
    const options = {
      // Otherwise Node itself would refuse a request without a host, in its own format.
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
        : createTlsServer({ ...options, handshakeTimeout: headMs }, onRequest, tls);

    this.#server
      .on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
        const { bytesRead } = socket;
        this.#ready.set(socket, () => socket.bytesRead === bytesRead);
        socket.once('close', () => this.#ready.delete(socket));
      })
      .on('clientError', (error, socket) => {
        // No response can be sent before the handshake is complete.
        if (this.#ready.has(socket)) gateway.onClientError(error, socket);
        else socket.destroy();
      })
      .on('connect', gateway.onConnect)
      .on('checkContinue', this.#trackRequests(gateway.onCheckContinue))
      // Otherwise Node itself would refuse an unknown expectation; RFC 9110 lets a server ignore it.
      .on('checkExpectation', onRequest);

    this.#sockets = new OpenSockets(this.#server, maxConnections, gateway.isAuthenticated);
    // With a limit, Node would silently drop further headers. `maxHeaderSize` limits their number too.
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
   * Stops accepting connections, and ends each open connection after its last response. After `graceMs`, calls
   * `onClose` for the requests that are still arriving, and a second later ends the remaining connections.
   */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    // First reads requests that have already arrived on idle connections: closing those would reset the requests.
    await turn();
    await turn();

    const sweep = setInterval(() => {
      this.#server.closeIdleConnections();
      this.#destroySilent();
      // Only unfinished TLS handshakes are left, and are not worth waiting for.
      if (this.#ready.size === 0) this.#sockets.destroy();
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

  /** Ends the connections on which clients have sent nothing yet: Node does not count them as idle. */
  #destroySilent(): void {
    for (const [socket, isSilent] of this.#ready) if (isSilent()) socket.destroy();
  }

  #trackRequests(listener: RequestListener): RequestListener {
    return (request, response) => {
      if (this.#closing) response.setHeader('Connection', 'close');
      this.#sockets.begin(response);
      listener(request, response);
    };
  }
}

function createTlsServer(options: ServerOptions, onRequest: RequestListener, tls: FollowedTls): Server {
  const server = createSecureServer({ ...options, ...identityOf(tls) }, onRequest);
  tls.onRenewed(() => {
    server.setSecureContext(identityOf(tls));
  });
  return server;
}

/** Omits the client authorities, since HTTP clients need no certificate. */
function identityOf({ latest }: FollowedTls): TlsMaterial {
  return { ...latest, ca: undefined };
}

/** An open socket whose client has shown no valid token. */
interface Stranger {
  readonly socket: Socket;
  /** The responses that the client has not received to their end. */
  readonly responses: Set<ServerResponse>;
}

/**
 * The open sockets of an HTTP server, including those whose TLS handshake is not complete. When there are as many as
 * there may be, a new socket takes the place of the socket that has been idle for longest, of those whose clients have
 * shown no valid token. A socket is idle while nothing but its client is waited for: to send a request, or to read a
 * response.
 */
class OpenSockets {
  readonly #open = new Set<Socket>();
  readonly #isCallers: (socket: Socket) => boolean;
  /**
   * By the client's address, since Node does not say on which socket a TLS handshake was; the latest to be active is
   * last.
   */
  readonly #strangers = new Map<string, Stranger>();

  /**
   * @param server whose sockets to follow from now on
   * @param most how many may be open
   * @param isCallers whether the latest request on a socket had a valid token
   */
  constructor(server: Server, most: number, isCallers: (socket: Socket) => boolean) {
    this.#isCallers = isCallers;
    // Node drops every further socket, before any event. The additional socket takes another's place, or is refused.
    server.maxConnections = most + 1;
    server.prependListener('connection', (socket: Socket) => {
      if (this.#open.size < most || this.#evict()) this.#add(socket);
      // Later, since the listeners of the server still expect an open socket.
      else setImmediate(() => socket.destroy());
    });
  }

  /** A request has arrived. */
  begin(response: ServerResponse): void {
    const { socket } = response.req;
    const client = clientOf(socket);
    const stranger = this.#strangers.get(client);
    if (stranger === undefined) return;

    stranger.responses.add(response);
    this.#isActive(client, stranger);

    response.once('close', () => {
      stranger.responses.delete(response);
      if (this.#strangers.get(client) !== stranger) return;
      if (this.#isCallers(socket)) this.#strangers.delete(client);
      else this.#isActive(client, stranger);
    });
  }

  destroy(): void {
    for (const socket of this.#open) socket.destroy();
  }

  #add(socket: Socket): void {
    const client = clientOf(socket);
    this.#open.add(socket);
    this.#strangers.set(client, { socket, responses: new Set() });
    socket.once('close', () => {
      this.#open.delete(socket);
      if (this.#strangers.get(client)?.socket === socket) this.#strangers.delete(client);
    });
  }

  #isActive(client: string, stranger: Stranger): void {
    this.#strangers.delete(client);
    this.#strangers.set(client, stranger);
  }

  /** Closes the socket that has been idle for longest. @returns whether there was an idle socket */
  #evict(): boolean {
    for (const [client, { socket, responses }] of this.#strangers) {
      if ([...responses].some(({ headersSent, req }) => !headersSent || this.#isCallers(req.socket)))
        continue;
      this.#strangers.delete(client);
      this.#open.delete(socket);
      socket.destroy();
      return true;
    }
    return false;
  }
}

function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
