import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Failure } from '../failures/failure.js';
import { headerValues } from './request-headers.js';
import { bytesReadBefore, receivedBytes } from './received-bytes.js';

/** Whether a request has a body (RFC 9112 6.3), which may be empty. */
export function hasBody(headers: IncomingHttpHeaders): boolean {
  return 'content-length' in headers || 'transfer-encoding' in headers;
}

const NO_BYTES = new Uint8Array();

/**
 * Reads the whole body of a request, as sent or as middleware has decoded it.
 *
 * @param maxBytes the maximum size, in bytes.
 * @returns the bytes; empty for a request without a body.
 * @throws Failure (rejects) `REQUEST_TOO_LARGE`, at once if the length is known, `REQUEST_MALFORMED`, or `INTERNAL` for
 *   a body that middleware has read and parsed.
 */
export function receiveBody(request: IncomingMessage, maxBytes: number): Uint8Array | Promise<Uint8Array> {
  return hasBody(request.headers) ? receivedBytes(request, maxBytes) : NO_BYTES;
}

/** The accepted content codings, sent only in responses that refuse another one (RFC 9110 12.5.3). */
const ACCEPT_ENCODING = { 'Accept-Encoding': 'identity' };

/**
 * Refuses every content coding, unless middleware has already decoded the body.
 *
 * @throws Failure `CONTENT_TYPE_UNSUPPORTED`.
 */
export function requireDecoded(request: IncomingMessage): void {
  const { headers } = request;
  const coding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (coding === 'identity' || !hasBody(headers) || bytesReadBefore(request)) return;
  throw contentCodingUnsupported(request.method);
}

// RFC 9110 5.6.6: parameters may be empty, and spaces may surround semicolons.
const JSON_TYPE = /^application\/json(?:[ \t]*;(?:[ \t]*charset=(?:utf-8|"utf-8"))?)*[ \t]*$/i;

// RFC 7396: grpc-gateway accepts this type for a PATCH, and reads the body like any other.
const LENIENT_TYPE = new RegExp(JSON_TYPE.source.replace('json', '(?:json|merge-patch\\+json)'), 'i');

/**
 * Refuses every media type except `application/json`, with or without `charset=utf-8` (RFC 8259 defines no other).
 *
 * @param lenient whether to accept `application/merge-patch+json` and a missing type, too.
 * @throws Failure `CONTENT_TYPE_UNSUPPORTED`.
 */
export function requireJsonType(request: IncomingMessage, lenient: boolean): void {
  const values = headerValues(request, 'content-type');
  const taken = values.length === 0 ? lenient : (lenient ? LENIENT_TYPE : JSON_TYPE).test(values.join(', '));
  if (!taken) {
    throw mediaTypeUnsupported(request.method);
  }
}

/** @param verb the HTTP method of the request */
export function contentCodingUnsupported(verb: string | undefined): Failure {
  const message = 'The content encoding is not supported; only identity is allowed.';
  return unsupported(verb, message, ACCEPT_ENCODING);
}

/** @param verb the HTTP method of the request */
export function mediaTypeUnsupported(verb: string | undefined): Failure {
  return unsupported(verb, 'The content type is not supported; application/json in UTF-8 is allowed.');
}

function unsupported(
  verb: string | undefined,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Failure {
  // RFC 5789 3.1 for PATCH, and W3C Linked Data Platform 7.1 for the others.
  const accepted = verb === 'PATCH' ? 'Accept-Patch' : 'Accept-Post';
  return new Failure('CONTENT_TYPE_UNSUPPORTED', message, {
    headers: { [accepted]: 'application/json', ...headers },
  });
}
