import { Metadata } from '@grpc/grpc-js';
import { BadRequest, ErrorInfo, RequestInfo } from '../gen/google/rpc/error_details.js';
import { Status } from '../gen/google/rpc/status.js';
import { protobufPackage as DOMAIN } from '../gen/routing/v1/route_service.js';
import type { Reply } from './call.js';
import { CODES, type CallFailure } from './failures.js';
import { REQUEST_ID, STATUS_DETAILS } from './metadata-keys.js';

/**
 * The most bytes of a `google.rpc.Status` in the trailers. gRPC clients accept 8 KiB of metadata by default;
 * Base64 adds a third, and the status message is sent there too.
 */
const STATUS_MAX_BYTES = 4_096;

/** A failure as a reply: status, message, and a `google.rpc.Status` with everything. */
export function failureReply(failure: CallFailure, requestId: string): Reply {
  const trailers = new Metadata();
  trailers.set(REQUEST_ID, requestId);
  trailers.set(STATUS_DETAILS, Buffer.from(encodeStatus(failure, requestId)));
  return { code: CODES[failure.reason], details: failure.message, trailers };
}

/** Omits violations from the end until the status fits, and counts them. */
function encodeStatus(failure: CallFailure, requestId: string): Uint8Array {
  for (let kept = failure.violations.length; ; kept = Math.floor(kept * 0.9)) {
    const bytes = Status.encode(toStatus(failure, requestId, kept)).finish();
    if (bytes.length <= STATUS_MAX_BYTES || kept === 0) return bytes;
  }
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
  details.push(any('RequestInfo', RequestInfo.encode({ requestId, servingData: '' }).finish()));
  return { code: CODES[reason], message, details };
}

function any(name: string, bytes: Uint8Array): Status['details'][number] {
  return { typeUrl: `type.googleapis.com/google.rpc.${name}`, value: Buffer.from(bytes) };
}
