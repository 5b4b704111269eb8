import type { Client, ServiceError } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import type { CallMetadata } from '../upstream.js';
import { ReflectedFiles } from './reflected-files.js';
import { ReflectionError } from './reflection-error.js';
import { ReflectionStream, VERSIONS } from './reflection-stream.js';

/**
 * The contract of a server, read by reflection. `createTranscoder` and `describe` take `descriptorSet` and `services`
 * as options.
 */
export interface ReflectedContract {
  /** A serialized `google.protobuf.FileDescriptorSet` with all imports, imports first. */
  readonly descriptorSet: Uint8Array;
  /** The full names of the services, except reflection itself. Services of gRPC, such as health, come last. */
  readonly services: readonly string[];
  /** A sentence for each service that the server lists but does not describe. */
  readonly skipped: readonly string[];
}

/** Reads the contract with the first protocol version that the server supports. @throws ReflectionError (rejects) */
export async function takeContract(
  client: Client,
  target: string,
  deadlineMs: number,
  metadata: CallMetadata | undefined,
): Promise<ReflectedContract> {
  const deadline = Date.now() + deadlineMs;
  let last: unknown;
  for (const version of VERSIONS) {
    const stream = new ReflectionStream(client, version, deadline, metadata);
    try {
      return await contractOf(stream, target);
    } catch (error) {
      last = error;
      if ((error as Partial<ServiceError>).code !== status.UNIMPLEMENTED) break;
    } finally {
      stream.close();
    }
  }
  throw last instanceof ReflectionError ? last : failureOf(last as Error, target, deadlineMs);
}

async function contractOf(stream: ReflectionStream, target: string): Promise<ReflectedContract> {
  const listed = await stream.ask({ case: 'listServices', value: '*' });
  const names = listed.case === 'listServicesResponse' ? listed.value.service.map(({ name }) => name) : [];
  const files = new ReflectedFiles(stream);
  const services: string[] = [];
  const skipped: string[] = [];
  for (const name of names.filter((each) => !each.startsWith('grpc.reflection.'))) {
    if (await files.takeService(name)) services.push(name);
    else skipped.push(`${name}: the server lists it, but has no descriptor of it.`);
  }
  if (services.length === 0) {
    const found = [...skipped, `${target} describes no service.`].join(' ');
    throw new ReflectionError(status.NOT_FOUND, found);
  }
  const ofGrpc = (name: string): number => Number(name.startsWith('grpc.'));
  services.sort((one, other) => ofGrpc(one) - ofGrpc(other));
  return { descriptorSet: await files.complete(), services, skipped };
}

function failureOf(
  error: Partial<ServiceError> & Error,
  target: string,
  deadlineMs: number,
): ReflectionError {
  const { code = status.UNKNOWN, details = error.message } = error;
  const texts: Readonly<Partial<Record<status, string>>> = {
    [status.UNAVAILABLE]: `cannot be reached: ${causeIn(details)}.`,
    [status.UNIMPLEMENTED]: 'has no server reflection.',
    [status.DEADLINE_EXCEEDED]: `has not described its services within ${deadlineMs / 1_000} s.`,
  };
  const text = texts[code] ?? `does not describe its services: ${status[code]}, ${details}`;
  return new ReflectionError(code, `${target} ${text}`);
}

/** The cause in a text of grpc-js: `… Last error: Error: connect ECONNREFUSED … (2026-…Z). Resolution note: …`. */
function causeIn(details: string): string {
  return details
    .replace(/^.*Last error: (?:Error: )?/s, '')
    .replace(/\.? Resolution note:.*$/s, '')
    .replace(/ \([-\d]+T[\d:.]+Z\)$/, '')
    .replace(/^.*:SSL routines:[^:]*:([^:]+):.*$/s, 'TLS failed, $1')
    .replace(/^Failed to connect$/, 'it ended the connection, as a server that expects TLS does');
}
