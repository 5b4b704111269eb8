import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type SessionOptions,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { opening } from './opening.js';

/** A server that speaks HTTP/2 as a test says, and gRPC only as far. */
interface BareHttp2Server {
  readonly address: string;
  /** The sessions so far. */
  readonly sessions: readonly ServerHttp2Session[];
  /** The headers of the requests so far. */
  readonly requests: readonly IncomingHttpHeaders[];
}

type OnStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

/** Starts a server on loopback that ends with the test. */
export async function startHttp2Server(
  onStream: OnStream,
  settings: SessionOptions['settings'] = {},
): Promise<BareHttp2Server> {
  const sessions: ServerHttp2Session[] = [];
  const requests: IncomingHttpHeaders[] = [];
  const server = createServer({ settings })
    .on('session', (session) => {
      sessions.push(session.on('error', () => undefined));
    })
    .on('stream', (stream, headers) => {
      requests.push(headers);
      onStream(
        stream.on('error', () => undefined),
        headers,
      );
    });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opening({
    close: () => {
      for (const session of sessions) session.destroy();
      server.close();
    },
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, sessions, requests };
}

/** Answers a call with an empty message and `OK`. */
export function answerOk(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => {
    stream.sendTrailers({ 'grpc-status': '0' });
  });
  stream.end(Buffer.alloc(5));
}
