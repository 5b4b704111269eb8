import { clone, createRegistry } from '@bufbuild/protobuf';
import {
  file_google_protobuf_any,
  file_google_protobuf_api,
  file_google_protobuf_descriptor,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_source_context,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_type,
  file_google_protobuf_wrappers,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';
import { file_google_api_http } from '../gen/google/api/http_pb.js';
import { file_google_rpc_code } from '../gen/google/rpc/code_pb.js';
import { file_google_rpc_error_details } from '../gen/google/rpc/error_details_pb.js';
import { file_google_rpc_status } from '../gen/google/rpc/status_pb.js';

const OWN = createRegistry(
  file_google_protobuf_any,
  file_google_protobuf_api,
  file_google_protobuf_descriptor,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_source_context,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_type,
  file_google_protobuf_wrappers,
  file_google_api_http,
  file_google_rpc_code,
  file_google_rpc_error_details,
  file_google_rpc_status,
);

/** A copy of the well-known file with a message or enum that this package has itself; undefined if it has none. */
export function ownFile(name: string): FileDescriptorProto | undefined {
  const type = OWN.getMessage(name) ?? OWN.getEnum(name);
  return type && clone(FileDescriptorProtoSchema, type.file.proto);
}
