import { Metadata } from '@grpc/grpc-js';
import { BadRequest, ErrorInfo, RequestInfo, RetryInfo } from '../gen/google/rpc/error_details.js';
import { Status } from '../gen/google/rpc/status.js';
import { protobufPackage as DOMAIN } from '../gen/routing/v1/route_service.js';
import type { Reply } from './call.js';
import { CODES, type CallFailure, RETRY_DELAYS_MS } from './failures.js';
import { REQUEST_ID, RETRY_PUSHBACK, STATUS_DETAILS } from './metadata-keys.js';

/** The maximum size of all trailers, in bytes: by default, nginx rejects a response with more than 4 KiB of them. */
export const TRAILERS_MAX_BYTES = 3_584;
/** An allowance for everything in the trailers but the request id, the message and the details, in bytes. */
const FIXED_BYTES = 128;
/** Tells clients not to retry (gRFC A6). Otherwise they would, since overload has the same status code. */
const NEVER_RETRY = -1;

/** Converts a failure to a reply: status, message, and a `google.rpc.Status` with as many violations as fit. */
export function failureReply(failure: CallFailure, requestId: string): Reply {
  const trailers = new Metadata();
  trailers.set(REQUEST_ID, requestId);
  const retryDelayMs = RETRY_DELAYS_MS[failure.reason];
  const pushbackMs = failure.reason === 'REQUEST_TOO_LARGE' ? NEVER_RETRY : retryDelayMs;
  if (pushbackMs !== undefined) trailers.set(RETRY_PUSHBACK, String(pushbackMs));
  // The message is also sent in a trailer of its own, percent-encoded (gRPC over HTTP/2).
  const others = FIXED_BYTES + requestId.length + encodeURI(failure.message).length;
  trailers.set(
    STATUS_DETAILS,
    Buffer.from(encodeStatus(failure, requestId, bytesInBase64(TRAILERS_MAX_BYTES - others))),
  );
  return { code: CODES[failure.reason], details: failure.message, trailers };
}

/** The most bytes whose Base64 fits in the given length. */
function bytesInBase64(length: number): number {
  return Math.floor((length * 3) / 4);
}

/** Encodes as many violations as fit, and counts the others. */
function encodeStatus(failure: CallFailure, requestId: string, maxBytes: number): Uint8Array {
  const encode = (kept: number): Uint8Array => Status.encode(toStatus(failure, requestId, kept)).finish();
  let bytes = encode(failure.violations.length);
  if (bytes.length <= maxBytes) return bytes;
  let fits = 0;
  let tooMany = failure.violations.length;
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    bytes = encode(middle);
    if (bytes.length <= maxBytes) fits = middle;
    else tooMany = middle;
  }
  return encode(fits);
}

function toStatus(failure: CallFailure, requestId: string, kept: number): Status {
  const { reason, message, violations } = failure;
  const omitted = violations.length - kept;
  const metadata =
    omitted === 0 ? failure.metadata : { ...failure.metadata, violations_omitted: String(omitted) };
  const fieldViolations = violations
    .slice(0, kept)
    .map(({ field, description }) => ({ field, description, reason: '', localizedMessage: undefined }));
  const details = [any('ErrorInfo', ErrorInfo.encode({ reason, domain: DOMAIN, metadata }).finish())];
  if (kept > 0) details.push(any('BadRequest', BadRequest.encode({ fieldViolations }).finish()));
  const retryDelayMs = RETRY_DELAYS_MS[reason];
  if (retryDelayMs !== undefined) details.push(any('RetryInfo', encodeRetryInfo(retryDelayMs)));
  details.push(any('RequestInfo', RequestInfo.encode({ requestId, servingData: '' }).finish()));
  return { code: CODES[reason], message, details };
}

function encodeRetryInfo(delayMs: number): Uint8Array {
  const retryDelay = { seconds: BigInt(Math.floor(delayMs / 1_000)), nanos: (delayMs % 1_000) * 1_000_000 };
  return RetryInfo.encode({ retryDelay }).finish();
}

function any(name: string, bytes: Uint8Array): Status['details'][number] {
  return { typeUrl: `type.googleapis.com/google.rpc.${name}`, value: Buffer.from(bytes) };
}
