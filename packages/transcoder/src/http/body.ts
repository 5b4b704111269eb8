import type { IncomingMessage } from 'node:http';
import { HttpFailure, internal, malformed } from '../failures/failure.js';
import type { Exchange } from './exchange.js';
import { hasBody } from './head.js';

/**
 * Refuses a body with a content coding, unless middleware has already decoded it.
 *
 * @throws HttpFailure `CONTENT_TYPE_UNSUPPORTED`.
 */
export function requireDecoded(request: IncomingMessage): void {
  const { headers } = request;
  const coding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (coding === 'identity' || !hasBody(headers) || bytesReadBefore(request) !== undefined) return;
  // RFC 9110 12.5.3: a response that refuses a coding names the accepted ones.
  throw unsupportedType(request.method, 'The content encoding is not supported; only identity is allowed.', {
    'Accept-Encoding': 'identity',
  });
}

// RFC 9110 5.6.6: parameters may be empty, and spaces may surround semicolons; a value is a token or a quoted string. RFC
// 8259 defines no parameters, so all but the charset are ignored.
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
  throw unsupportedType(exchange.verb, message);
}

/** The content type or coding is not supported. @param verb the HTTP method of the request */
function unsupportedType(
  verb: string | undefined,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): HttpFailure {
  // RFC 5789 3.1 defines the header for PATCH, and W3C Linked Data Platform 7.1 that for POST.
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
   * The bytes of the whole body. After a failure, the request is paused. If `stop` comes first, this never settles.
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
    this.whole = new Promise((resolveWhole, rejectWhole) => {
      resolve = resolveWhole;
      reject = rejectWhole;
    });

    const stop = (): void => {
      request.off('data', take).off('end', complete).off('error', breakOff).off('close', breakOff);
    };
    this.stop = stop;

    function fail(failure: HttpFailure): void {
      stop();
      request.pause();
      reject(failure);
    }

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

    const bytesRead = bytesReadBefore(request);
    const length = bytesRead?.length ?? Number(request.headers['content-length']);
    if (length > maxBytes) fail(bodyTooLarge(maxBytes));
    else if (bytesRead !== undefined) resolve(bytesRead);
    else if (request.readableEnded) fail(internal(new Error(READ_BY_MIDDLEWARE)));
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
  /** The content, which may be followed by room for more. */
  #bytes: Buffer = NO_BYTES;
  /** The size of the content. */
  size = 0;

  append(piece: Buffer): void {
    const size = this.size + piece.length;
    if (this.size === 0) {
      // Not copied, since it is nearly always the only chunk.
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

/** For the log: a developer has to change the order of the middleware. */
const READ_BY_MIDDLEWARE =
  'A middleware has read the body before the transcoder. Mount the transcoder first; it passes on what is not its own.';

/** The body exceeds the limit. @param maxBytes the limit, in bytes */
function bodyTooLarge(maxBytes: number): HttpFailure {
  return new HttpFailure('REQUEST_TOO_LARGE', `The request is larger than ${maxBytes} bytes.`);
}
