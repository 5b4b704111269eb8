import express, { type Request, type RequestHandler, type Response } from 'express';
import { Failure, malformed } from '../failures/failure.js';

/** The largest body, in bytes after inflating. */
export const MAX_BODY_BYTES = 65_536;

const readRaw: RequestHandler = express.raw({ type: () => true, limit: MAX_BODY_BYTES, inflate: true });

/**
 * Reads the whole body of a request, inflated.
 *
 * @returns the bytes; none for a request without a body.
 * @throws Failure `REQUEST_TOO_LARGE`, `CONTENT_TYPE_UNSUPPORTED` for a `Content-Encoding` that is not
 * known, or `REQUEST_MALFORMED` for one that the bytes do not follow.
 */
export function readBody(request: Request, response: Response): Uint8Array | Promise<Uint8Array> {
  // RFC 9112 6.3: without either header there is no body.
  if (!('content-length' in request.headers || 'transfer-encoding' in request.headers)) return NO_BYTES;
  return new Promise((resolve, reject) => {
    readRaw(request, response, (error?: unknown) => {
      if (error !== undefined) reject(bodyFailure(error));
      else resolve(request.body as Uint8Array);
    });
  });
}

const NO_BYTES = new Uint8Array();

/** The content codings that are taken: for answers that refuse another, and no others (RFC 9110 12.5.3). */
const ACCEPT_ENCODING = { 'Accept-Encoding': 'gzip, deflate, br' };
/** The codes of Node's `zlib`. */
const ZLIB_ERROR = /^(?:Z_|ERR__ERROR_|ERR_BROTLI_|ERR_ZSTD_|ZSTD_)/;

function bodyFailure(error: unknown): Failure {
  const { type, code = '' } = error as { readonly type?: string; readonly code?: string };
  if (type === 'entity.too.large') return bodyTooLarge();
  if (type === 'encoding.unsupported') return encodingUnsupported();
  if (ZLIB_ERROR.test(code)) {
    return malformed('The body is not what its headers say.', [
      { field: 'content-encoding', description: 'Names an encoding that the body does not follow.' },
    ]);
  }
  return malformed('The body did not arrive whole.');
}

/** The body has more than `MAX_BODY_BYTES`, as sent or inflated. */
export function bodyTooLarge(): Failure {
  return new Failure('REQUEST_TOO_LARGE', `The request is larger than ${MAX_BODY_BYTES} bytes.`);
}

/** The body came in a content coding that is not taken. */
export function encodingUnsupported(): Failure {
  return unsupported('The content encoding is not supported; gzip, deflate and br are.', ACCEPT_ENCODING);
}

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?$/i;

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
