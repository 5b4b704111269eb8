import { constants, type IncomingHttpHeaders } from 'node:http2';
import { Metadata, status } from '@grpc/grpc-js';
import type { UnaryReply } from './upstream.js';

/** The reply of a call without a message. */
export function failedReply(code: status, details: string, trailers = new Metadata()): UnaryReply {
  return { code, details, trailers };
}

/**
 * How the server says that a call ended (gRPC over HTTP/2, Trailers). What says nothing about the call is no
 * answer of a gRPC server, and the HTTP status counts.
 */
export function statusReply(trailers: IncomingHttpHeaders, httpStatus: number | undefined): UnaryReply {
  const { 'grpc-status': given, 'grpc-message': text, ...others } = trailers;
  const metadata = Metadata.fromHttp2Headers(others);
  if (given === undefined) return { ...httpStatusReply(httpStatus), trailers: metadata };
  const details = typeof text === 'string' ? percentDecoded(text) : '';
  return { code: codes.get(given) ?? status.UNKNOWN, details, trailers: metadata };
}

/** By the HTTP status alone ("HTTP to gRPC Status Code Mapping"). */
export function httpStatusReply(httpStatus: number | undefined): UnaryReply {
  const code = httpStatuses.get(httpStatus ?? 0) ?? status.UNKNOWN;
  return failedReply(code, `The server answered without a gRPC status, with the HTTP status ${httpStatus}.`);
}

/** By the code of an RST_STREAM (gRPC over HTTP/2, Errors). */
export function resetReply(http2Code: number): UnaryReply {
  const code = resetCodes.get(http2Code) ?? status.INTERNAL;
  return failedReply(code, `The server reset the call with the HTTP/2 error ${http2Code}.`);
}

const httpStatuses: ReadonlyMap<number, status> = new Map([
  [400, status.INTERNAL],
  [401, status.UNAUTHENTICATED],
  [403, status.PERMISSION_DENIED],
  [404, status.UNIMPLEMENTED],
  [429, status.UNAVAILABLE],
  [502, status.UNAVAILABLE],
  [503, status.UNAVAILABLE],
  [504, status.UNAVAILABLE],
]);

const resetCodes: ReadonlyMap<number, status> = new Map([
  [constants.NGHTTP2_REFUSED_STREAM, status.UNAVAILABLE],
  [constants.NGHTTP2_CANCEL, status.CANCELLED],
  [constants.NGHTTP2_ENHANCE_YOUR_CALM, status.RESOURCE_EXHAUSTED],
  [constants.NGHTTP2_INADEQUATE_SECURITY, status.PERMISSION_DENIED],
]);

const codes: ReadonlyMap<unknown, status> = new Map(
  Object.values(status)
    .filter((code) => typeof code === 'number')
    .map((code) => [String(code), code]),
);

/** A status message is UTF-8, percent-encoded; what is no escape stands for itself, a byte each. */
function percentDecoded(text: string): string {
  const bytes = text.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
