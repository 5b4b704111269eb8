import type { IncomingMessage } from 'node:http';
import { Failure, internal, malformed } from '../failures/failure.js';

const NO_BYTES = Buffer.alloc(0);

/** The bytes that middleware such as `express.raw()` has read and decoded; undefined if there are none. */
export function bytesReadBefore({ body }: IncomingMessage & { readonly body?: unknown }): Buffer | undefined {
  return Buffer.isBuffer(body) ? body : undefined;
}

/**
 * Reads the bytes of a request's body. After a failure, the request is paused.
 *
 * @param maxBytes the maximum size, in bytes.
 * @throws Failure (rejects) `REQUEST_TOO_LARGE`, at once if the length is known, `REQUEST_MALFORMED` for a body that is
 *   incomplete, or `INTERNAL` for a body that middleware has read and parsed.
 */
export function receivedBytes(request: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const bytes = new GrowingBytes();

    function take(chunk: Buffer): void {
      if (bytes.size + chunk.length > maxBytes) end(bodyTooLarge(maxBytes));
      else bytes.append(chunk);
    }

    function complete(): void {
      end();
    }

    function breakOff(): void {
      end(malformed('The body did not arrive whole.'));
    }

    function end(failure?: Failure): void {
      request.off('data', take).off('end', complete).off('error', breakOff).off('close', breakOff);
      if (failure === undefined) {
        resolve(bytes.all());
      } else {
        request.pause();
        reject(failure);
      }
    }

    const before = bytesReadBefore(request);
    const length = before?.length ?? Number(request.headers['content-length']);
    if (length > maxBytes) end(bodyTooLarge(maxBytes));
    else if (before !== undefined) resolve(before);
    else if (request.readableEnded) end(readBefore());
    else if (!request.readable) breakOff();
    else request.on('data', take).on('end', complete).on('error', breakOff).on('close', breakOff);
  });
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
function readBefore(): Failure {
  return internal(
    new Error(
      'A middleware has read the body before the transcoder. Mount the transcoder first; it passes on what is not its own.',
    ),
  );
}

/** The body exceeds the limit. @param maxBytes the limit, in bytes */
export function bodyTooLarge(maxBytes: number): Failure {
  return new Failure('REQUEST_TOO_LARGE', `The request is larger than ${maxBytes} bytes.`);
}
