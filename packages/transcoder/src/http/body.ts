import type { IncomingMessage } from 'node:http';
import {
  deadlineExceeded,
  HttpFailure,
  internal,
  malformed,
  overloaded,
  shuttingDown,
} from '../failures/failure.js';
import { Counts } from '../counts.js';
import type { HttpReply } from '../http-reply.js';
import type { Exchange } from './exchange.js';
import { hasBody } from './head.js';

/**
 * Refuses every content coding, unless middleware has already decoded the body.
 *
 * @throws HttpFailure `CONTENT_TYPE_UNSUPPORTED`.
 */
export function requireDecoded(request: IncomingMessage): void {
  const { headers } = request;
  const coding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (coding === 'identity' || !hasBody(headers) || bytesReadBefore(request)) return;
  // RFC 9110 12.5.3: the accepted codings are in the responses that refuse another one.
  throw unsupported(request.method, 'The content encoding is not supported; only identity is allowed.', {
    'Accept-Encoding': 'identity',
  });
}

// RFC 9110 5.6.6: parameters may be empty, and spaces may surround semicolons. RFC 8259 defines none, so all but the
// charset are ignored.
const JSON_TYPE =
  /^application\/json(?:[ \t]*;(?:[ \t]*(?:charset=(?:utf-8|"utf-8")|(?!charset=)[\w!#$%&'*+\-.^`|~]+=(?:[\w!#$%&'*+\-.^`|~]+|"(?:[^"\\]|\\.)*")))?)*[ \t]*$/i;

/** Whether the media type of a body is `application/json`, with or without `charset=utf-8`. */
export function isJsonType({ sent }: Exchange): boolean {
  return JSON_TYPE.test(sent.get('content-type')?.join(', ') ?? '');
}

/** Refuses every other media type. @throws HttpFailure `CONTENT_TYPE_UNSUPPORTED` */
export function requireJsonType(exchange: Exchange): void {
  if (isJsonType(exchange)) return;
  const message = 'The content type is not supported; application/json in UTF-8 is allowed.';
  throw unsupported(exchange.verb, message);
}

/** @param verb the HTTP method of the request */
function unsupported(
  verb: string | undefined,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): HttpFailure {
  // RFC 5789 3.1 for PATCH, and W3C Linked Data Platform 7.1 for the others.
  const accepted = verb === 'PATCH' ? 'Accept-Patch' : 'Accept-Post';
  return new HttpFailure('CONTENT_TYPE_UNSUPPORTED', message, {
    headers: { [accepted]: 'application/json', ...headers },
  });
}

/** A body that is empty. */
export const NO_BYTES = Buffer.alloc(0);
const ignore = (): void => undefined;

/** A body that is being read, as sent or as middleware has decoded it. */
export class ArrivingBody {
  /**
   * The bytes. After a failure, the request is paused. Never settles after `stop`.
   *
   * @throws HttpFailure (rejects) `REQUEST_TOO_LARGE`, at once if the length is known, `REQUEST_MALFORMED` for a body that
   *   is incomplete, or `INTERNAL` for a body that middleware has read and parsed.
   */
  readonly whole: Promise<Uint8Array>;
  /** Stops reading, so that a reply to the request can discard the rest. */
  readonly stop: () => void;

  constructor(request: IncomingMessage, maxBytes: number) {
    const bytes = new GrowingBytes();
    let resolve: (bytes: Uint8Array) => void = ignore;
    let reject: (failure: HttpFailure) => void = ignore;

    function take(chunk: Buffer): void {
      if (bytes.size + chunk.length > maxBytes) fail(bodyTooLarge(maxBytes));
      else bytes.append(chunk);
    }

    function complete(): void {
      stop();
      resolve(bytes.all());
    }

    function breakOff(): void {
      fail(malformed('The body did not arrive whole.'));
    }

    function stop(): void {
      request.off('data', take).off('end', complete).off('error', breakOff).off('close', breakOff);
    }

    function fail(failure: HttpFailure): void {
      stop();
      request.pause();
      reject(failure);
    }

    this.stop = stop;
    this.whole = new Promise((...settle) => {
      [resolve, reject] = settle;
    });
    const before = bytesReadBefore(request);
    const length = before?.length ?? Number(request.headers['content-length']);
    if (length > maxBytes) fail(bodyTooLarge(maxBytes));
    else if (before !== undefined) resolve(before);
    else if (request.readableEnded) fail(internal(new Error(READ_BEFORE)));
    else if (!request.readable) breakOff();
    else request.on('data', take).on('end', complete).on('error', breakOff).on('close', breakOff);
  }
}

/**
 * The bytes that other code has read and decoded, such as `express.raw()`, or a framework that parses bodies and keeps
 * them as `rawBody`; undefined if there are none.
 */
function bytesReadBefore(request: object): Buffer | undefined {
  const { body, rawBody }: { readonly body?: unknown; readonly rawBody?: unknown } = request;
  return [body, rawBody].find((bytes) => Buffer.isBuffer(bytes));
}

/**
 * A buffer that grows as chunks arrive. Each chunk is copied: Node needs a hundred bytes of its own for each chunk, and
 * keeps everything that it has read at the same time, so a body in chunks of one byte would take a hundred times its
 * size.
 */
class GrowingBytes {
  #bytes: Buffer = NO_BYTES;
  size = 0;

  append(piece: Buffer): void {
    const size = this.size + piece.length;
    if (this.size === 0) {
      // Nearly always the only chunk, so it is not copied.
      this.#bytes = piece;
    } else {
      if (size > this.#bytes.length) this.#grow(Math.max(size, 2 * this.size));
      piece.copy(this.#bytes, this.size);
    }
    this.size = size;
  }

  all(): Buffer {
    return this.#bytes.subarray(0, this.size);
  }

  #grow(capacity: number): void {
    const larger = Buffer.allocUnsafe(capacity);
    this.#bytes.copy(larger, 0, 0, this.size);
    this.#bytes = larger;
  }
}

/** Developers have to change the order of their middleware, so the log says how. */
const READ_BEFORE =
  'A middleware has read the body before the transcoder. Mount the transcoder first; it passes on what is not its own.';

/** The body exceeds the limit. @param maxBytes the limit, in bytes */
function bodyTooLarge(maxBytes: number): HttpFailure {
  return new HttpFailure('REQUEST_TOO_LARGE', `The request is larger than ${maxBytes} bytes.`);
}

/** A request whose body is still arriving, and whose client the guard may refuse. */
export interface PendingBody {
  /** What tells its caller apart from others; undefined if nothing does. */
  readonly caller: string | undefined;
  /** The guard's response for a client that it refuses; undefined for any other. */
  refusal(): Promise<HttpReply | undefined>;
  /**
   * Returns the guard's response for a client that it refuses, which thus learns nothing about the failure.
   *
   * @throws the failure, for any other client.
   */
  refusalOr(failure: unknown): Promise<HttpReply>;
}

/** The part of the places for arriving requests that one caller may have. */
const OF_ONE_CALLER = 1 / 4;

/** The request bodies that did not arrive together with their heads. */
export class Uploads {
  readonly #now: () => number;
  readonly #most: number;
  readonly #mostOfCaller: number;
  /** Ends each of them with a failure. */
  readonly #waiting = new Set<(failure: Error) => void>();
  /** Those whose clients the guard has admitted: before, a late body gains nothing over a whole one. */
  #arriving = 0;
  readonly #callers = new Counts();
  #ended = false;

  /**
   * @param maxRequests the maximum number of requests. Half of them, and at least one, may be arriving; the rest is
   *   reserved for requests that have arrived. One caller gets at most a quarter of the half, and at least one.
   */
  constructor(now: () => number, maxRequests: number) {
    this.#now = now;
    this.#most = Math.max(1, Math.floor(maxRequests / 2));
    this.#mostOfCaller = Math.max(1, Math.floor(this.#most * OF_ONE_CALLER));
  }

  /**
   * Waits for a body. If the body is incomplete at the end of this turn of the event loop, the guard is called, and a
   * client that it refuses gets its reply at once, however long the body takes.
   *
   * @param deadline in milliseconds, by the clock of all deadlines.
   * @returns the body, or the reply to a client that the guard refuses.
   * @throws HttpFailure `DEADLINE_EXCEEDED`, `OVERLOADED` or `SHUTTING_DOWN`, or the failure of the body.
   */
  async wait(
    body: ArrivingBody,
    deadline: number,
    request: PendingBody,
    exchange: Exchange,
  ): Promise<Uint8Array | HttpReply> {
    let timer: NodeJS.Timeout | undefined;
    let turn: NodeJS.Immediate | undefined;
    let end: (failure: Error) => void = ignore;
    let leave = ignore;
    const arrived = (): void => {
      clearImmediate(turn);
      clearTimeout(timer);
      this.#waiting.delete(end);
      leave();
      leave = ignore;
    };
    const judged = (resolve: (reply: HttpReply) => void, refusal: HttpReply | undefined): void => {
      if (refusal !== undefined) {
        resolve(refusal);
      } else if (this.#waiting.has(end)) {
        leave = this.#enter(request.caller);
        exchange.send100Continue();
      }
    };
    try {
      return await new Promise<Uint8Array | HttpReply>((resolve, reject) => {
        end = reject;
        turn = setImmediate(() => {
          if (this.#ended) {
            end(shuttingDown());
            return;
          }
          this.#waiting.add(end);
          const leftMs = Math.max(0, deadline - this.#now());
          timer = setTimeout(() => {
            end(deadlineExceeded());
          }, leftMs);
          request
            .refusal()
            .then((refusal) => {
              judged(resolve, refusal);
            })
            .catch(end);
        });
        body.whole
          .finally(arrived)
          .catch((failure: unknown) => request.refusalOr(failure))
          .then(resolve, reject);
      });
    } finally {
      arrived();
      body.stop();
    }
  }

  /** Stops waiting for bodies, those that are arriving and later ones. */
  end(): void {
    this.#ended = true;
    for (const end of this.#waiting) end(shuttingDown());
  }

  /** Takes a place. @returns the function that frees it. @throws HttpFailure `OVERLOADED` */
  #enter(caller: string | undefined): () => void {
    if (this.#arriving >= this.#most)
      throw overloaded(`It has ${this.#most} requests that are still arriving.`);
    // Without a credential, nothing tells callers apart.
    if (this.#callers.of(caller) >= this.#mostOfCaller)
      throw overloaded(`The caller has ${this.#mostOfCaller} requests that are still arriving.`);
    this.#arriving += 1;
    this.#callers.add(caller, 1);
    return () => {
      this.#arriving -= 1;
      this.#callers.add(caller, -1);
    };
  }
}
