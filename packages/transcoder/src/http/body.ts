import type { IncomingMessage } from 'node:http';
import { HttpFailure, internal, malformed } from '../failures/failure.js';

/** The bytes of an empty body. */
export const NO_BYTES = Buffer.alloc(0);

const ignore = (): void => undefined;

/** For the log: a developer has to change the order of the middleware. */
const READ_BY_MIDDLEWARE =
  'A middleware has read the body before the transcoder. Mount the transcoder first; it passes on what is not its own.';

/** A body that is being read, as sent or as middleware has decoded it. */
export class ArrivingBody {
  /**
   * The bytes of the whole body. After a failure, the request is paused. If `stop` comes first, this never settles.
   *
   * @throws HttpFailure (rejects) `REQUEST_TOO_LARGE`, at once if the length is known, `REQUEST_MALFORMED` for a body that
   *   is incomplete, or `INTERNAL` for a body that middleware has read and parsed.
   */
  readonly whole: Promise<Uint8Array>;
  readonly #request: IncomingMessage;
  readonly #maxBytes: number;
  readonly #bytes = new GrowingBytes();
  #resolve: (bytes: Uint8Array) => void = ignore;
  #reject: (failure: HttpFailure) => void = ignore;

  constructor(request: IncomingMessage, maxBytes: number) {
    this.#request = request;
    this.#maxBytes = maxBytes;
    this.whole = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#read();
  }

  /** Stops reading, so that a reply to the request can discard the rest. */
  stop(): void {
    this.#request
      .off('data', this.#take)
      .off('end', this.#complete)
      .off('error', this.#failIncomplete)
      .off('close', this.#failIncomplete);
  }

  #read(): void {
    const request = this.#request;
    const bytesRead = bytesReadBefore(request);
    // Without Content-Length, this is NaN, which is not more than the limit.
    const length = bytesRead?.length ?? Number(request.headers['content-length']);
    const isReadByOthers = request.readableEnded;
    const isBroken = !request.readable;

    if (length > this.#maxBytes) this.#fail(bodyTooLarge(this.#maxBytes));
    else if (bytesRead !== undefined) this.#resolve(bytesRead);
    else if (isReadByOthers) this.#fail(internal(new Error(READ_BY_MIDDLEWARE)));
    else if (isBroken) this.#failIncomplete();
    else this.#listen();
  }

  #listen(): void {
    this.#request
      .on('data', this.#take)
      .on('end', this.#complete)
      .on('error', this.#failIncomplete)
      .on('close', this.#failIncomplete);
  }

  readonly #take = (chunk: Buffer): void => {
    if (this.#bytes.size + chunk.length > this.#maxBytes) this.#fail(bodyTooLarge(this.#maxBytes));
    else this.#bytes.append(chunk);
  };

  readonly #complete = (): void => {
    this.stop();
    this.#resolve(this.#bytes.all());
  };

  readonly #failIncomplete = (): void => {
    this.#fail(malformed('The body did not arrive whole.'));
  };

  #fail(failure: HttpFailure): void {
    this.stop();
    this.#request.pause();
    this.#reject(failure);
  }
}

/**
 * The bytes that other code has read and decoded, such as `express.raw()`, or a framework that parses bodies and keeps
 * them as `rawBody`; undefined if there are none.
 */
export function bytesReadBefore(request: object): Buffer | undefined {
  const { body, rawBody }: { readonly body?: unknown; readonly rawBody?: unknown } = request;
  return [body, rawBody].find((bytes) => Buffer.isBuffer(bytes));
}

/**
 * A buffer that grows as chunks arrive. Every chunk is copied, except a lone one: if it were kept, Node would need a hundred
 * bytes besides it, and the whole read from the socket that it was cut from would stay in memory.
 */
class GrowingBytes {
  /** The content, which may be followed by room for more. */
  #bytes: Buffer = NO_BYTES;
  /** The size of the content. */
  size = 0;

  append(chunk: Buffer): void {
    const size = this.size + chunk.length;
    if (this.size === 0) {
      // Nearly always the only chunk. If another follows, both are copied.
      this.#bytes = chunk;
    } else {
      if (size > this.#bytes.length) this.#grow(Math.max(size, 2 * this.size));
      chunk.copy(this.#bytes, this.size);
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

function bodyTooLarge(maxBytes: number): HttpFailure {
  return new HttpFailure('REQUEST_TOO_LARGE', `The request is larger than ${maxBytes} bytes.`);
}
