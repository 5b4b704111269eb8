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
interface TakeOptions {
  /** The time for all calls together, in milliseconds. */
  readonly timeLimitMs: number;
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
  { timeLimitMs, metadata, types }: TakeOptions,
): Promise<ReflectedContract> {
  const deadline = Date.now() + timeLimitMs;
  let lastFailure: unknown;
  for (const version of VERSIONS) {
    const stream = new ReflectionStream(client, version, deadline, metadata);
    try {
      return await contractOf(stream, target, deadline, types);
    } catch (error) {
      const failure =
        error instanceof ReflectionError
          ? error
          : failureOf(error as Error, stream.headers, target, timeLimitMs);
      lastFailure = failure;
      // A server without this version may have another.
      if (failure.code !== status.UNIMPLEMENTED) break;
    } finally {
      stream.close();
    }
  }
  // Set, since there is at least one version.
  throw lastFailure as ReflectionError;
}

/**
 * The contract, as far as the server describes it.
 *
 * @param deadline of all calls together, in milliseconds since the epoch.
 * @throws ReflectionError (rejects) if it describes no service whole: with all that the service needs.
 */
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
  await files.fetchImports();
  const { descriptorSet, whyLeftOut } = await files.validSet();

  // Of all symbols that are left out, only services and methods are reported.
  for (const [name, reason] of whyLeftOut) {
    const isService = described.has(name);
    const parent = parentOf(name);
    // If a service is skipped, the reasons for its methods add nothing.
    const isMethodOfKeptService = described.has(parent) && !whyLeftOut.has(parent);
    if (isService || isMethodOfKeptService) skipped.push(`${name}: ${reason}.`);
  }

  const services = [...described].filter((name) => !whyLeftOut.has(name));
  if (services.length === 0) {
    const describesNone = described.size === 0;
    const why = describesNone ? `${target} describes no service.` : `${target} describes no service whole.`;
    const code = describesNone ? status.NOT_FOUND : status.DATA_LOSS;
    throw new ReflectionError(code, [...skipped, why].join(' '));
  }

  // Those of gRPC come last.
  const rank = (name: string): number => (name.startsWith('grpc.') ? 1 : 0);
  services.sort((service, other) => rank(service) - rank(other));
  return { descriptorSet, services, skipped };
}

/** The full name of what a symbol is in; empty for a symbol without a package. */
function parentOf(name: string): string {
  const lastDot = name.lastIndexOf('.');
  return name.slice(0, Math.max(0, lastDot));
}

/** The full names of the services that the server lists, each once. */
async function listedServices(stream: ReflectionStream): Promise<Set<string>> {
  const listed = await stream.ask({ case: 'listServices', value: '*' });
  const services = listed.case === 'listServicesResponse' ? listed.value.service : [];
  // The npm package `@grpc/reflection` lists a service without a package with a leading dot.
  return new Set(services.map(({ name }) => name.replace(/^\./, '')));
}

/**
 * What an error of a call says about the server, for the user of the command.
 *
 * @param headers those of the response; undefined if none came.
 */
function failureOf(
  error: Partial<ServiceError> & Error,
  headers: Metadata | undefined,
  target: string,
  timeLimitMs: number,
): ReflectionError {
  const code = error.code ?? status.UNKNOWN;

  // A ServiceError without details is what grpc-js makes of a compression that it does not know.
  const detailsIfNone = 'code' in error ? UNKNOWN_COMPRESSION : error.message;
  const details = error.details ?? detailsIfNone;
  const whyNotGrpc = notGrpc(details, headers ?? error.metadata);
  if (whyNotGrpc !== undefined)
    return new ReflectionError(code, `${target} does not answer as a gRPC server: ${whyNotGrpc}.`);

  const texts: Readonly<Partial<Record<status, string>>> = {
    [status.UNAVAILABLE]: `cannot be reached: ${connectFailure(details)}.`,
    [status.UNIMPLEMENTED]: 'has no server reflection.',
    [status.DEADLINE_EXCEEDED]: `has not described its services within ${timeLimitMs / 1_000} s.`,
  };
  // Such details are a text of the server, which has a full stop or not.
  const text = texts[code] ?? `does not describe its services: ${status[code]}, ${details}`;
  return new ReflectionError(code, `${target} ${text}`);
}
