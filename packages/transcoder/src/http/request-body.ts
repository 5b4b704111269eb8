import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { Failure, malformed } from '../failures/failure.js';
import { bodyTooLarge, bytesReadBefore, receivedBytes } from './received-bytes.js';

/** Decodes a whole body. */
export type DecodeBody = (bytes: Uint8Array) => Uint8Array;

/**
 * The inverse of each content coding (RFC 9110 8.4.1). A body is small: in threads, it would cost more to hand over than
 * to inflate, and all that are under way would have their memory at once.
 */
const inflaters: ReadonlyMap<string, typeof gunzipSync> = new Map([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
]);

/** The largest body, in bytes, that is read before the guard has admitted the client. */
const STRANGER_MAX_BYTES = 4_096;

/** Whether a request has a body (RFC 9112 6.3), which may be empty. */
export function hasBody(headers: IncomingHttpHeaders): boolean {
  return 'content-length' in headers || 'transfer-encoding' in headers;
}

/** Whether reading a body may cost far more than refusing it: strangers are refused before. */
export function isCostly({ 'content-length': length, ...headers }: IncomingHttpHeaders): boolean {
  return (
    'content-encoding' in headers || 'transfer-encoding' in headers || Number(length) > STRANGER_MAX_BYTES
  );
}

const NO_BYTES = new Uint8Array();

/**
 * Reads the whole body of a request, as it was sent or as a middleware has left it.
 *
 * @param maxBytes the largest body, in bytes.
 * @returns the bytes; none for a request without a body.
 * @throws Failure `REQUEST_TOO_LARGE`, at once if the length is given, `REQUEST_MALFORMED`, or `INTERNAL` for a body that
 *   a middleware has read and parsed.
 */
export function receiveBody(request: IncomingMessage, maxBytes: number): Uint8Array | Promise<Uint8Array> {
  return hasBody(request.headers) ? receivedBytes(request, maxBytes) : NO_BYTES;
}

/**
 * The decoder for the content coding of a request; undefined if the body is not encoded, or not any more. It throws a
 * Failure `REQUEST_TOO_LARGE`, or `REQUEST_MALFORMED` for bytes that do not follow the coding.
 *
 * @param maxBytes the largest body, in bytes after decoding.
 * @throws Failure `CONTENT_TYPE_UNSUPPORTED` for an unknown `Content-Encoding`.
 */
export function bodyDecoder(request: IncomingMessage, maxBytes: number): DecodeBody | undefined {
  const { headers } = request;
  const coding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (coding === 'identity' || !hasBody(headers) || bytesReadBefore(request)) return undefined;
  const decode = inflaters.get(coding);
  if (decode === undefined) throw encodingUnsupported();
  return (bytes) => {
    try {
      return decode(bytes, { maxOutputLength: maxBytes });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw code === 'ERR_BUFFER_TOO_LARGE' ? bodyTooLarge(maxBytes) : wronglyEncoded(coding);
    }
  };
}

/** The accepted content codings, sent only in responses that refuse another one (RFC 9110 12.5.3). */
const ACCEPT_ENCODING = { 'Accept-Encoding': 'gzip, deflate, br' };

function wronglyEncoded(coding: string): Failure {
  return malformed('The body does not match its headers.', [
    { field: 'content-encoding', description: `Names ${coding}, but the body is not valid ${coding}.` },
  ]);
}

/** The content coding of the body is not accepted. */
function encodingUnsupported(): Failure {
  return unsupported(
    'The content encoding is not supported; gzip, deflate and br are allowed.',
    ACCEPT_ENCODING,
  );
}

// RFC 9110 5.6.6: parameters may be empty, and spaces may surround semicolons.
const JSON_TYPE = /^application\/json(?:[ \t]*;(?:[ \t]*charset=(?:utf-8|"utf-8"))?)*[ \t]*$/i;

/**
 * Refuses every media type except `application/json`, with or without `charset=utf-8` (RFC 8259 defines no other).
 *
 * @throws Failure `CONTENT_TYPE_UNSUPPORTED`.
 */
export function requireJsonType(contentType: string | undefined): void {
  if (contentType === undefined || !JSON_TYPE.test(contentType)) {
    throw unsupported('The content type is not supported; application/json in UTF-8 is allowed.');
  }
}

function unsupported(message: string, headers: Readonly<Record<string, string>> = {}): Failure {
  return new Failure('CONTENT_TYPE_UNSUPPORTED', message, {
    headers: { 'Accept-Post': 'application/json', ...headers },
  });
}
