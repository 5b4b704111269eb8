import type { IncomingMessage } from 'node:http';
import type { Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import getRawBody from 'raw-body';
import { Failure, malformed } from '../failures/failure.js';

/** The decoder of each content coding (RFC 9110 8.4.1). */
const decoders: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/**
 * Reads the whole body of a request, decoded.
 *
 * @param maxBytes the largest body, in bytes after decoding.
 * @returns the bytes; none for a request without a body.
 * @throws Failure `REQUEST_TOO_LARGE`, `CONTENT_TYPE_UNSUPPORTED` for a `Content-Encoding` that is not
 * known, or `REQUEST_MALFORMED` for one that the bytes do not follow.
 */
export function readBody(request: IncomingMessage, maxBytes: number): Uint8Array | Promise<Uint8Array> {
  const { headers } = request;
  // RFC 9112 6.3: without either header there is no body.
  if (!('content-length' in headers || 'transfer-encoding' in headers)) return NO_BYTES;
  const coding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (coding === 'identity') return bytesOf(request, maxBytes, headers['content-length']);
  const decoder = decoders.get(coding)?.();
  if (decoder === undefined) throw encodingUnsupported();
  // A pipe does not forward the errors of its source.
  const breakOff = (error: Error): void => void decoder.destroy(error);
  request.once('error', breakOff);
  return bytesOf(request.pipe(decoder), maxBytes).finally(() => {
    request.off('error', breakOff).unpipe(decoder).resume();
    decoder.destroy();
  });
}

const NO_BYTES = new Uint8Array();

/** The content codings that are taken: for answers that refuse another, and no others (RFC 9110 12.5.3). */
const ACCEPT_ENCODING = { 'Accept-Encoding': 'gzip, deflate, br' };

async function bytesOf(stream: Readable, limit: number, length: string | null = null): Promise<Uint8Array> {
  try {
    return await getRawBody(stream, { limit, length });
  } catch (error) {
    throw bodyFailure(error, limit);
  }
}

/** The codes of Node's `zlib`. */
const ZLIB_ERROR = /^(?:Z_|ERR__ERROR_|ERR_BROTLI_|ERR_ZSTD_|ZSTD_)/;

function bodyFailure(error: unknown, limit: number): Failure {
  const { type, code = '' } = error as { readonly type?: string; readonly code?: string };
  if (type === 'entity.too.large') return bodyTooLarge(limit);
  if (ZLIB_ERROR.test(code)) {
    return malformed('The body is not what its headers say.', [
      { field: 'content-encoding', description: 'Names an encoding that the body does not follow.' },
    ]);
  }
  return malformed('The body did not arrive whole.');
}

/** @param maxBytes what is allowed, decoded */
export function bodyTooLarge(maxBytes: number): Failure {
  return new Failure('REQUEST_TOO_LARGE', `The request is larger than ${maxBytes} bytes.`);
}

/** The body came in a content coding that is not taken. */
export function encodingUnsupported(): Failure {
  return unsupported('The content encoding is not supported; gzip, deflate and br are.', ACCEPT_ENCODING);
}

// RFC 9110 5.6.6: parameters may be empty, and space may stand around semicolons.
const JSON_TYPE = /^application\/json(?:[ \t]*;(?:[ \t]*charset=(?:utf-8|"utf-8"))?)*[ \t]*$/i;

/**
 * Refuses every media type but `application/json`, with `charset=utf-8` or without (RFC 8259 knows no
 * other).
 *
 * @throws Failure `CONTENT_TYPE_UNSUPPORTED`.
 */
export function requireJsonType(contentType: string | undefined): void {
  if (contentType === undefined || !JSON_TYPE.test(contentType)) {
    throw unsupported('The content type is not supported; application/json in UTF-8 is.');
  }
}

function unsupported(message: string, headers: Readonly<Record<string, string>> = {}): Failure {
  return new Failure('CONTENT_TYPE_UNSUPPORTED', message, {
    headers: { 'Accept-Post': 'application/json', ...headers },
  });
}
