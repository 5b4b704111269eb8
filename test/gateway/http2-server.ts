import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { createServer as createSocketServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A server on a loopback port that answers as no gRPC library would. */
export interface BareServer {
  readonly address: string;
  /** How many connections it has had. */
  readonly connections: () => number;
  /** Ends all connections at once, in the middle of whatever they carry (RST of TCP). */
  reset(): void;
  /** Ends all connections at once. */
  close(): void;
}

/** Serves HTTP/2, each stream by the given function. */
export async function serveStreams(
  answer: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
): Promise<BareServer & { readonly sessions: readonly ServerHttp2Session[] }> {
  const sessions: ServerHttp2Session[] = [];
  const server = createServer();
  server.on('session', (session) => sessions.push(session));
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    // A caller who goes resets the stream.
    stream.on('error', () => undefined);
    answer(stream, headers);
  });
  return { ...(await listening(server)), sessions };
}

/** Serves bare sockets. */
export function serveSockets(answer: (socket: Socket) => void): Promise<BareServer> {
  return listening(createSocketServer(answer));
}

/** Answers with headers, bytes and trailers; without trailers the bytes are the end. */
export function respond(
  stream: ServerHttp2Stream,
  { status = 200, body = Buffer.alloc(0), trailers }: Answer,
): void {
  stream.respond(
    { ':status': status, 'content-type': 'application/grpc' },
    { waitForTrailers: trailers !== undefined },
  );
  stream.on('wantTrailers', () => {
    stream.sendTrailers({ ...trailers });
  });
  stream.end(body);
}

/** What `respond` sends. */
export interface Answer {
  /** Default 200. */
  readonly status?: number;
  /** Default: none. */
  readonly body?: Buffer;
  readonly trailers?: Readonly<Record<string, string>>;
}

async function listening(server: Server): Promise<BareServer> {
  const sockets: Socket[] = [];
  server.on('connection', (socket: Socket) => {
    socket.on('error', () => undefined);
    sockets.push(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => sockets.length,
    reset: () => {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
