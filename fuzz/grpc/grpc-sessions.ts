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

/** The headers of a call beside those that every call has. */
export type GrpcHeaders = Readonly<Record<string, string | string[]>>;

/** A call as it is sent. */
export interface GrpcCall {
  readonly path: string;
  readonly headers: GrpcHeaders;
  readonly body: Buffer;
  /** Whether the client says that its request is complete. */
  readonly ends: boolean;
}

/** The answer on one stream. */
export interface GrpcAnswer {
  /** The HTTP status; undefined when no headers came. */
  readonly httpStatus: number | undefined;
  /** The gRPC status; undefined when the stream ended without one. */
  readonly code: number | undefined;
  readonly details: string;
  readonly trailers: Metadata;
  readonly data: Buffer;
  /** The reason of a reset (RFC 9113, section 7); 0 for none. */
  readonly resetCode: number;
}

const SESSIONS = 4;
const MOST_TRIES = 10;
/** This many pings, one after the other, are answered no sooner than a call that needs the database. */
const PINGS = 4;
/** Each case under way may wait for one. */
const MOST_PINGS = 1_000;
/** Node counts the memory of a connection, and resets streams beyond 10 MB; grpc-js clients run without a limit, too. */
const SESSION_MIB = 100_000;

/** A few connections that keep to HTTP/2 and share the calls. */
export class GrpcSessions {
  readonly #target: string;
  readonly #sessions: (ClientHttp2Session | undefined)[] = [];
  #pinged: ClientHttp2Session | undefined;
  #turn = 0;
  /** Connections that the service ended, which it must not do. */
  lost = 0;

  /** @param target `host:port` */
  constructor(target: string) {
    this.#target = target;
  }

  /**
   * Makes a call, again when its stream was refused: a connection may have fewer streams than its client knows yet.
   *
   * @param signal ends the call, whatever its state
   */
  async call(call: GrpcCall, signal: AbortSignal): Promise<GrpcAnswer> {
    for (let tries = 1; ; tries++) {
      const answer = await this.#try(call, signal);
      if (answer.resetCode !== constants.NGHTTP2_REFUSED_STREAM || tries === MOST_TRIES) return answer;
      await sleep(10 * tries);
    }
  }

  /** Resolves when the service has read everything that had come before, and has had time to answer it. */
  async hasRead(): Promise<void> {
    for (let pings = 0; pings < PINGS; pings++) await this.#ping();
  }

  close(): void {
    this.#pinged?.destroy();
    for (const session of this.#sessions) session?.destroy();
  }

  #try({ path, headers, body, ends }: GrpcCall, signal: AbortSignal): Promise<GrpcAnswer> {
    const stream = requestOn(this.#next(), path, headers);
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
      // With its answer, the client of a call that goes on ends its own half, as gRPC clients do.
      .on('end', () => stream.end())
      // The reason of a reset is read when the stream has closed.
      .on('error', () => undefined);
    signal.addEventListener('abort', () => stream.destroy());
    if (ends) stream.end(body);
    else stream.write(body);
    return new Promise((resolve) => {
      stream.once('close', () => {
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

  #ping(): Promise<void> {
    const session = isOpen(this.#pinged) ? this.#pinged : this.#connect();
    this.#pinged = session;
    return new Promise((resolve) => {
      session.ping(() => {
        resolve();
      });
    });
  }

  #next(): ClientHttp2Session {
    const index = this.#turn++ % SESSIONS;
    const open = this.#sessions[index];
    if (isOpen(open)) return open;
    const session = this.#connect();
    this.#sessions[index] = session;
    return session;
  }

  #connect(): ClientHttp2Session {
    const session = connect(`http://${this.#target}`, {
      maxOutstandingPings: MOST_PINGS,
      maxSessionMemory: SESSION_MIB,
    });
    return session
      .on('error', () => undefined)
      .once('goaway', (code) => {
        // Without an error: it was idle.
        if (code !== constants.NGHTTP2_NO_ERROR) this.lost++;
      });
  }
}

function isOpen(session: ClientHttp2Session | undefined): session is ClientHttp2Session {
  return session !== undefined && !session.closed && !session.destroyed;
}

/** The text of a percent-encoded `grpc-message`; as it is when it is not encoded well. */
function decoded(message: string | string[] | undefined): string {
  const text = String(message ?? '');
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
