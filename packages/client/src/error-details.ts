import { createRegistry, fromBinary } from '@bufbuild/protobuf';
import { type Any, anyUnpack } from '@bufbuild/protobuf/wkt';
import type { Metadata } from '@grpc/grpc-js';
import { file_google_rpc_error_details } from './gen/google/rpc/error_details_pb.js';
import type * as known from './gen/google/rpc/error_details_pb.js';
import { StatusSchema } from './gen/google/rpc/status_pb.js';

type KnownDetail =
  | known.BadRequest
  | known.DebugInfo
  | known.ErrorInfo
  | known.Help
  | known.LocalizedMessage
  | known.PreconditionFailure
  | known.QuotaFailure
  | known.RequestInfo
  | known.ResourceInfo
  | known.RetryInfo;

/**
 * A detail of an error (google/rpc/error_details.proto); `$typeName` is its type. A detail of a type that this package
 * does not know remains a `google.protobuf.Any`.
 */
export type ErrorDetail = KnownDetail | Any;

const registry = createRegistry(file_google_rpc_error_details);

/** The details in the trailers of a failed call; empty if there are none, or if they cannot be decoded. */
export function detailsIn(trailers: Metadata): ErrorDetail[] {
  const [bytes] = trailers.get('grpc-status-details-bin');
  if (!(bytes instanceof Buffer)) return [];
  try {
    return fromBinary(StatusSchema, bytes).details.map(unpackDetail);
  } catch {
    return [];
  }
}

function unpackDetail(any: Any): ErrorDetail {
  // The registry holds exactly the known types.
  return (anyUnpack(any, registry) as KnownDetail | undefined) ?? any;
}

/** The first detail of a type, such as `google.rpc.ErrorInfo`. */
export function detailOf<Name extends ErrorDetail['$typeName']>(details: readonly ErrorDetail[], name: Name) {
  return details.find(
    (detail): detail is Extract<ErrorDetail, { $typeName: Name }> => detail.$typeName === name,
  );
}
