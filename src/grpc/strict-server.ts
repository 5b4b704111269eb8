import { EventEmitter, once } from 'node:events';
import { lstat, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { constants, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { Server, type ServerCredentials, type ServerOptions } from '@grpc/grpc-js';
import type { EarlyAnswers } from './early-answer.js';
import { AUTHORIZATION, IDEMPOTENCY_KEY, READ_KEYS } from '../calls/metadata-keys.js';
import type { StreamEvent } from '../edge/connections.js';

/** The path to which calls of unregistered methods are redirected. */
export const UNKNOWN_METHOD = '/unknown.Service/Method';
/** The metadata key of their own path. */
export const UNKNOWN_PATH_KEY = 'x-unknown-path';

/** gRPC over HTTP/2: a TimeoutValue is at most 8 digits and a unit. */
const TIMEOUT = /^(\d{1,8})([HMSmun])$/;
const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};
/** gRPC over HTTP/2: `application/grpc`, perhaps with a format; `application/grpc-web` is another protocol. */
const CONTENT_TYPE = /^application\/grpc(?:[+;]|$)/;
/** A `grpc-encoding` that grpc-js does not know: it refuses a compressed message instead of inflating it. */
const NO_ENCODING = 'none';
/** The headers that grpc-js and the service read. */
const READ: ReadonlySet<string> = new Set([
  ':path',
  'content-type',
  'grpc-encoding',
  'grpc-timeout',
  ...READ_KEYS,
]);
/** What metadata cannot carry. */
const UNFIT = /[^\x20-\x7e]/g;
/** The longest timeout, in milliseconds: a longer one would overflow in grpc-js, into the past. */
const LONGEST_MS = 99_999_999;

/**
 * The server of grpc-js, which misreads parts of a call's headers: a second `authorization`, which Node drops silently;
 * values that are not printable ASCII, which it drops itself; a `grpc-timeout` that is malformed or days long; the path of
 * an unknown method, which it answers below all interceptors. It takes the content types of other protocols for its own,
 * such as gRPC-Web's, answers a stream that is already closed, which throws, and inflates messages before any interceptor
 * sees them. This class corrects the headers before grpc-js reads them, and keeps the streams from it that are no calls.
 *
 * This is the only place that reads private state of grpc-js (decision 18): nothing public shows the raw headers of a
 * call.
 */
export class StrictServer extends Server {
  readonly #paths = new Set<string>();
  readonly #maxPathBytes: number;
  readonly #uncompressed: ReadonlySet<string>;
  readonly #earlyAnswers: EarlyAnswers;

  /**
   * @param maxPathBytes how much of an unknown method's path is kept
   * @param uncompressed the paths of the methods that take no compressed messages
   */
  constructor(
    options: ServerOptions,
    maxPathBytes: number,
    uncompressed: ReadonlySet<string>,
    earlyAnswers: EarlyAnswers,
  ) {
    super(options);
    this.#maxPathBytes = maxPathBytes;
    this.#uncompressed = uncompressed;
    this.#earlyAnswers = earlyAnswers;
  }

  override register<Request, Response>(
    ...definition: Parameters<typeof Server.prototype.register<Request, Response>>
  ): boolean {
    const [path] = definition;
    this.#paths.add(path);
    return super.register(...definition);
  }

  /**
   * Listens and returns the port.
   *
   * @param attach called with each HTTP/2 server that listens
   * @throws Error when it cannot listen on the address, or when the installed grpc-js is built differently
   */
  async listen(
    address: string,
    credentials: ServerCredentials,
    attach: (listener: Http2Server) => void,
  ): Promise<number> {
    if (address.startsWith('unix:')) await removeDeadSocket(address.slice('unix:'.length));
    const port = await new Promise<number>((resolve, reject) => {
      this.bindAsync(address, credentials, (error, bound) => {
        if (error === null) resolve(bound);
        else reject(error);
      });
    });
    for (const listener of listenersIn(this['http2Servers'])) {
      const listeners = listener.listeners('stream');
      listener.removeAllListeners('stream').on('stream', (...event: StreamEvent) => {
        if (this.#isCall(event)) for (const call of listeners) call.apply(listener, event);
      });
      attach(listener);
    }
    return port;
  }

  /** Corrects the headers of a call, or answers a stream that is none. */
  #isCall([stream, headers, , rawHeaders]: StreamEvent): boolean {
    if (stream.closed || !CONTENT_TYPE.test(headers['content-type'] ?? '')) {
      // A reset of the client, or ours.
      stream.on('error', () => undefined);
      if (!stream.closed) this.#earlyAnswers.sendAfterRequest(stream, answerOtherProtocol.bind(null, stream));
      return false;
    }
    dropUnread(headers);
    if (this.#uncompressed.has(String(headers[':path']))) refuseCompression(headers);
    correct(headers, rawHeaders, this.#paths, this.#maxPathBytes);
    correctTimeout(headers);
    return true;
  }
}

/** @throws Error if grpc-js does not keep its HTTP/2 servers as the keys of a Map */
export function listenersIn(http2Servers: unknown): Http2Server[] {
  const keys: unknown[] = http2Servers instanceof Map ? [...http2Servers.keys()] : [];
  const listeners = keys.filter(isListener);
  if (listeners.length > 0 && listeners.length === keys.length) return listeners;
  throw new Error(
    'The installed version of @grpc/grpc-js is not the one that this service is built for: it keeps its HTTP/2 servers elsewhere. Install the version in package-lock.json.',
  );
}

function isListener(value: unknown): value is Http2Server {
  return value instanceof EventEmitter && value.listenerCount('session') > 0;
}

/**
 * Deletes the headers that nobody reads. grpc-js would copy each into a call's metadata, and only that copy makes the
 * values of a repeated header, which refer to one text, as long as they claim to be.
 */
function dropUnread(headers: IncomingHttpHeaders): void {
  for (const name in headers) if (!READ.has(name)) Reflect.deleteProperty(headers, name);
}

function correct(
  headers: IncomingHttpHeaders,
  rawHeaders: readonly string[],
  paths: ReadonlySet<string>,
  maxPathBytes: number,
): void {
  const path = String(headers[':path']);
  // A client that names the path of unknown methods is treated the same: the path that it claims is ignored.
  if (path === UNKNOWN_METHOD || !paths.has(path)) {
    headers[':path'] = UNKNOWN_METHOD;
    headers[UNKNOWN_PATH_KEY] = beginningOf(path, maxPathBytes);
  }
  if (rawHeaders.indexOf(AUTHORIZATION) !== rawHeaders.lastIndexOf(AUTHORIZATION)) {
    const given = rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1] === AUTHORIZATION);
    headers[AUTHORIZATION] = given.join(', ');
  }
  // Neither is valid then: no token has a question mark, no idempotency key a space.
  mask(headers, AUTHORIZATION, '?');
  mask(headers, IDEMPOTENCY_KEY, ' ');
}

function mask(headers: IncomingHttpHeaders, name: string, replacement: string): void {
  const value = headers[name];
  if (typeof value === 'string' && value.search(UNFIT) >= 0)
    headers[name] = value.replace(UNFIT, replacement);
}

/** Copies the text, since a slice would keep all of it. Node reads headers as Latin-1, one byte per character. */
function beginningOf(text: string, bytes: number): string {
  return text.length <= bytes ? text : Buffer.from(text, 'latin1').toString('latin1', 0, bytes);
}

function correctTimeout(headers: IncomingHttpHeaders): void {
  const given = headers['grpc-timeout'];
  if (given === undefined) return;
  const [, digits, unit = ''] = TIMEOUT.exec(String(given)) ?? [];
  if (digits === undefined) headers['grpc-timeout'] = 'none';
  else if (Number(digits) * (UNIT_MS[unit] ?? 0) > LONGEST_MS) headers['grpc-timeout'] = `${LONGEST_MS}m`;
}

/** gRPC over HTTP/2: another content type is 415. */
function answerOtherProtocol(stream: ServerHttp2Stream): void {
  if (!stream.closed)
    stream.respond({ ':status': constants.HTTP_STATUS_UNSUPPORTED_MEDIA_TYPE }, { endStream: true });
}

function refuseCompression(headers: IncomingHttpHeaders): void {
  if (headers['grpc-encoding'] !== undefined) headers['grpc-encoding'] = NO_ENCODING;
}

/** A killed process leaves its socket behind; a socket on which nobody listens must be removed. */
async function removeDeadSocket(path: string): Promise<void> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
  } catch (error) {
    const refused = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
    // Other files refuse connections too.
    if (refused && (await lstat(path)).isSocket()) await rm(path);
  } finally {
    socket.destroy();
  }
}
