import { createFileRegistry, fromBinary, type JsonObject, toJson } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { type Metadata, status } from '@grpc/grpc-js';
import { descriptorSet } from '../../src/gen/descriptor-set.js';
import type { Outcome } from './service.js';

const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptorSet));

/** A failure in the form that both protocols share. */
export interface RichError {
  /** The name of the gRPC status. */
  readonly status: string | undefined;
  readonly message: string | undefined;
  /** The details in ProtoJSON. */
  readonly details: unknown;
}

/** The failure of a gRPC call. */
export function richErrorOfCall({ error, trailers }: Outcome): RichError {
  if (error === undefined) throw new Error('The call did not fail.');
  return richErrorOfReply({ code: error.code, details: error.details, trailers });
}

/** The reply of a failed call, from a pipeline or a socket. */
interface FailedCall {
  readonly code: number;
  readonly details: string;
  readonly trailers: Metadata;
}

/** The failure in a reply. @throws Error unless its details repeat the code and the message of the status */
export function richErrorOfReply({ code, details: text, trailers }: FailedCall): RichError {
  const schema = registry.getMessage('google.rpc.Status');
  const [bytes] = trailers.get('grpc-status-details-bin');
  if (schema === undefined || !(bytes instanceof Buffer)) throw new Error('No rich error.');
  const rich = toJson(schema, fromBinary(schema, bytes), { registry }) as JsonObject;
  if (rich['code'] !== code || rich['message'] !== text)
    throw new Error('The status and its details differ.');
  return { status: status[code], message: text, details: rich['details'] };
}

/** The failure in a REST response. @throws Error if the status line and the body differ */
export async function richErrorOfResponse(response: Response): Promise<RichError> {
  const { error } = (await response.json()) as { error: RichError & { code: number } };
  if (error.code !== response.status) throw new Error('The status line and the body differ.');
  const { status: name, message, details } = error;
  return { status: name, message, details };
}

/** The `ErrorInfo` of a failure. @throws Error unless there is exactly one */
export function errorInfoOf({ details }: RichError): { reason?: string; domain?: string; metadata?: object } {
  const infos = (details as { '@type': string }[]).filter((detail) =>
    detail['@type'].endsWith('google.rpc.ErrorInfo'),
  );
  if (infos.length !== 1) throw new Error(`There are ${infos.length} ErrorInfo.`);
  return infos[0] as { reason?: string };
}
