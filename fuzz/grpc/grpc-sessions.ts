import {
  type ClientHttp2Session,
  connect,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
} from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { Metadata } from '@grpc/grpc-js';
import { requestOn } from '../../test/support/http2-call.js';

/** The headers of a call, besides those that every call has. */
export type GrpcHeaders = Readonly<Record<string, string | string[]>>;

/** A call to send. */
export interface GrpcCall {
  readonly path: string;
  readonly headers: GrpcHeaders;
  readonly body: Buffer;
  /** Whether the client half-closes the stream. */
  readonly ends: boolean;
}

/** The response on a stream. */
export interface GrpcAnswer {
  /** The HTTP status; undefined if no headers arrived. */
  readonly httpStatus: number | undefined;
  /** The gRPC status; undefined if the stream ended without one. */
  readonly code: number | undefined;
  readonly details: string;
  readonly trailers: Metadata;
  readonly data: Buffer;
  /** The error code of a reset (RFC 9113, section 7); 0 for none. */
  readonly resetCode: number;
}

/** The least number of connections. */
const SESSIONS = 4;
const MOST_TRIES = 10;
/** Node resets streams when a connection uses more than 10 MB of memory; grpc-js clients lift this limit, too. */
const SESSION_MIB = 100_000;

/** A pool of connections that follow HTTP/2 and share the calls. */
export class GrpcSessions {
  readonly #target: string;
  readonly #sessions: (ClientHttp2Session | undefined)[] = [];
  readonly #openStreams = new WeakMap<ClientHttp2Session, number>();
  #turn = 0;
  /** The number of connections that the service ended with an error, which it must not do. */
  lost = 0;

  /** @param target `host:port` */
  constructor(target: string) {
    this.#target = target;
  }

  /**
   * Makes a call, and retries it when its stream is refused: the client may not know the server's stream limit yet.
   *
   * @param signal aborts the call
   */
  async call(call: GrpcCall, signal: AbortSignal): Promise<GrpcAnswer> {
    for (let tries = 1; ; tries++) {
      const answer = await this.#try(call, signal);
      if (answer.resetCode !== constants.NGHTTP2_REFUSED_STREAM || tries === MOST_TRIES) return answer;
      await sleep(10 * tries);
    }
  }

  close(): void {
    for (const session of this.#sessions) session?.destroy();
  }

  #try({ path, headers, body, ends }: GrpcCall, signal: AbortSignal): Promise<GrpcAnswer> {
    const session = this.#next();
    const stream = requestOn(session, path, headers);
    this.#count(session, 1);
    const chunks: Buffer[] = [];
    let first: IncomingHttpHeaders & IncomingHttpStatusHeader = {};
    let last: IncomingHttpHeaders = {};
    stream
      .on('response', (received) => {
        first = received;
        last = received;
      })
      .on('trailers', (received: IncomingHttpHeaders) => {
        last = received;
      })
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      // When the response ends, half-close a request that is still open, as gRPC clients do.
      .on('end', () => stream.end())
      // The reset code is read when the stream has closed.
      .on('error', () => undefined);
    signal.addEventListener('abort', () => stream.destroy());
    if (ends) stream.end(body);
    else stream.write(body);
    return new Promise((resolve) => {
      stream.once('close', () => {
        this.#count(session, -1);
        const status = last['grpc-status'];
        resolve({
          httpStatus: first[':status'],
          code: status === undefined ? undefined : Number(status),
          details: decoded(last['grpc-message']),
          trailers: Metadata.fromHttp2Headers(last),
          data: Buffer.concat(chunks),
          resetCode: stream.rstCode,
        });
      });
    });
  }

  /** Returns a connection with room for another stream; the connections take turns. */
  #next(): ClientHttp2Session {
    const first = this.#turn++ % SESSIONS;
    for (let index = first; ; index++) {
      const open = this.#sessions[index];
      if (isOpen(open)) {
        if (this.#hasRoom(open)) return open;
      } else {
        const session = this.#connect();
        this.#sessions[index] = session;
        return session;
      }
    }
  }

  /**
   * Whether a connection has at most half as many streams as the server allows. Node also counts streams that have closed
   * and are not yet freed, so that near the limit it may reset a valid one (ENHANCE_YOUR_CALM).
   */
  #hasRoom(session: ClientHttp2Session): boolean {
    const { maxConcurrentStreams = Infinity } = session.remoteSettings;
    return (this.#openStreams.get(session) ?? 0) < maxConcurrentStreams / 2;
  }

  #count(session: ClientHttp2Session, change: number): void {
    this.#openStreams.set(session, (this.#openStreams.get(session) ?? 0) + change);
  }

  #connect(): ClientHttp2Session {
    const session = connect(`http://${this.#target}`, {
      maxSessionMemory: SESSION_MIB,
    });
    return session
      .on('error', () => undefined)
      .once('goaway', (code) => {
        // NO_ERROR means that the connection was idle.
        if (code !== constants.NGHTTP2_NO_ERROR) this.lost++;
      });
  }
}

function isOpen(session: ClientHttp2Session | undefined): session is ClientHttp2Session {
  return session !== undefined && !session.closed && !session.destroyed;
}

/** Decodes a percent-encoded `grpc-message`; returns it unchanged if the encoding is invalid. */
function decoded(message: string | string[] | undefined): string {
  const text = String(message ?? '');
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
