import type { Client, Metadata, ServiceError } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import { connectFailure, notGrpc, UNKNOWN_COMPRESSION } from '../../grpc-js/call-failure.js';
import type { CallMetadata } from '../../upstream.js';
import { TimeSlices } from './time-slices.js';
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
  /** A sentence for each service or method that the server lists but does not describe whole. */
  readonly skipped: readonly string[];
}

/** What to ask for, and within which time. */
interface Taking {
  /** The time for all calls together, in milliseconds. */
  readonly deadlineMs: number;
  /** The metadata of the calls. Default: none. */
  readonly metadata: CallMetadata | undefined;
  /** Full names of further types to take, as far as the server has them. */
  readonly types: Iterable<string>;
}

/**
 * Reads the contract with the first protocol version that the server supports.
 *
 * @throws ReflectionError (rejects)
 */
export async function takeContract(
  client: Client,
  target: string,
  { deadlineMs, metadata, types }: Taking,
): Promise<ReflectedContract> {
  const deadline = Date.now() + deadlineMs;
  let lastFailure: unknown;
  for (const version of VERSIONS) {
    const stream = new ReflectionStream(client, version, deadline, metadata);
    try {
      return await contractOf(stream, target, deadline, types);
    } catch (error) {
      const failure =
        error instanceof ReflectionError
          ? error
          : failureOf(error as Error, stream.headers, target, deadlineMs);
      lastFailure = failure;
      // The server may have another version.
      if (failure.code !== status.UNIMPLEMENTED) break;
    } finally {
      stream.close();
    }
  }
  throw lastFailure as Error;
}

/** The contract, as far as the server describes it. @throws ReflectionError (rejects) if it describes no service whole */
async function contractOf(
  stream: ReflectionStream,
  target: string,
  deadline: number,
  types: Iterable<string>,
): Promise<ReflectedContract> {
  const names = await listedServices(stream);
  const files = new ReflectedFiles(stream, new TimeSlices(deadline));
  const described = new Set<string>();
  const skipped: string[] = [];
  for (const name of names) {
    if (name.startsWith('grpc.reflection.')) continue;
    const reason = await files.takeService(name);
    if (reason === undefined) described.add(name);
    else skipped.push(`${name}: ${reason}.`);
  }

  for (const name of types) await files.takeSymbol(name);
  await files.complete();
  const { descriptorSet, reasons } = await files.set();

  for (const [name, reason] of reasons) {
    const parent = name.slice(0, Math.max(0, name.lastIndexOf('.')));
    const isService = described.has(name);
    // If a service is skipped, the reasons for its methods add nothing.
    const isMethodOfWhole = described.has(parent) && !reasons.has(parent);
    if (isService || isMethodOfWhole) skipped.push(`${name}: ${reason}.`);
  }

  const services = [...described].filter((name) => !reasons.has(name));
  if (services.length === 0) {
    const describesNone = described.size === 0;
    const why = describesNone ? `${target} describes no service.` : `${target} describes no service whole.`;
    const code = describesNone ? status.NOT_FOUND : status.DATA_LOSS;
    throw new ReflectionError(code, [...skipped, why].join(' '));
  }

  const ofGrpc = (name: string): number => Number(name.startsWith('grpc.'));
  services.sort((service, other) => ofGrpc(service) - ofGrpc(other));
  return { descriptorSet, services, skipped };
}

/** The full names of the services that the server lists, each once. */
async function listedServices(stream: ReflectionStream): Promise<Set<string>> {
  const listed = await stream.ask({ case: 'listServices', value: '*' });
  const services = listed.case === 'listServicesResponse' ? listed.value.service : [];
  // The npm package `@grpc/reflection` lists a service without a package with a leading dot.
  return new Set(services.map(({ name }) => name.replace(/^\./, '')));
}

/** What an error of a call says about the server, for the user of the command. @param headers those of the call, if any came */
function failureOf(
  error: Partial<ServiceError> & Error,
  headers: Metadata | undefined,
  target: string,
  deadlineMs: number,
): ReflectionError {
  const code = error.code ?? status.UNKNOWN;

  // A ServiceError without details is what grpc-js makes of a compression that it does not know.
  const withoutDetails = 'code' in error ? UNKNOWN_COMPRESSION : error.message;
  const details = error.details ?? withoutDetails;
  const whatElse = notGrpc(details, headers ?? error.metadata);
  if (whatElse !== undefined)
    return new ReflectionError(code, `${target} does not answer as a gRPC server: ${whatElse}.`);

  const texts: Readonly<Partial<Record<status, string>>> = {
    [status.UNAVAILABLE]: `cannot be reached: ${connectFailure(details)}.`,
    [status.UNIMPLEMENTED]: 'has no server reflection.',
    [status.DEADLINE_EXCEEDED]: `has not described its services within ${deadlineMs / 1_000} s.`,
  };
  const text = texts[code] ?? `does not describe its services: ${status[code]}, ${details}`;
  return new ReflectionError(code, `${target} ${text}`);
}
