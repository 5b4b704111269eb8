import type { Client, Metadata, ServiceError } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import { connectFailure, notGrpc, UNKNOWN_COMPRESSION } from '../../grpc-js/call-failure.js';
import type { CallMetadata } from '../../upstream.js';
import { TimeSlices } from './time-slices.js';
import { ReflectedFiles } from './reflected-files.js';
import { ReflectionError } from './reflection-error.js';
import { ReflectionStream, VERSIONS } from './reflection-stream.js';
import { parentOf } from './symbols.js';

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
  let unimplemented: unknown;
  for (const version of VERSIONS) {
    const stream = new ReflectionStream(client, version, deadline, metadata);
    try {
      return await contractOf(stream, target, deadline, types);
    } catch (error) {
      const failure = reflectionError(error, stream.headers, target, timeLimitMs);
      // A server without this version may have another.
      if (failure.code !== status.UNIMPLEMENTED) throw failure;
      unimplemented = failure;
    } finally {
      stream.close();
    }
  }
  // Set, since there is at least one version.
  throw unimplemented as ReflectionError;
}

/**
 * The contract, as far as the server describes it.
 *
 * @param deadline of all calls together, in milliseconds since the epoch.
 * @throws ReflectionError (rejects) if it describes no service whole, that is, with all that the service needs.
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
  skipped.push(...skippedSymbols(described, whyLeftOut));
  const services = [...described].filter((name) => !whyLeftOut.has(name));
  if (services.length === 0) throw noServiceLeft(target, described, skipped);

  // Those of gRPC come last.
  const rank = (name: string): number => (name.startsWith('grpc.') ? 1 : 0);
  services.sort((service, other) => rank(service) - rank(other));
  return { descriptorSet, services, skipped };
}

/**
 * A sentence for each service and method that is left out; other symbols are not reported.
 *
 * @param described the full names of the services that the server describes.
 */
function skippedSymbols(described: ReadonlySet<string>, whyLeftOut: ReadonlyMap<string, string>): string[] {
  const skipped: string[] = [];
  for (const [name, reason] of whyLeftOut) {
    const isService = described.has(name);
    const parent = parentOf(name);
    // If a service is skipped, the reasons for its methods add nothing.
    const isMethodOfKeptService = described.has(parent) && !whyLeftOut.has(parent);
    if (isService || isMethodOfKeptService) skipped.push(`${name}: ${reason}.`);
  }
  return skipped;
}

function noServiceLeft(
  target: string,
  described: ReadonlySet<string>,
  skipped: readonly string[],
): ReflectionError {
  const describesNone = described.size === 0;
  const why = describesNone ? `${target} describes no service.` : `${target} describes no service whole.`;
  const code = describesNone ? status.NOT_FOUND : status.DATA_LOSS;
  return new ReflectionError(code, [...skipped, why].join(' '));
}

/** The full names of the services that the server lists, each once. */
async function listedServices(stream: ReflectionStream): Promise<Set<string>> {
  const listed = await stream.ask({ case: 'listServices', value: '*' });
  const services = listed.case === 'listServicesResponse' ? listed.value.service : [];
  // The npm package `@grpc/reflection` lists a service without a package with a leading dot.
  return new Set(services.map(({ name }) => name.replace(/^\./, '')));
}

/**
 * What an error says about the server, for the user of the command.
 *
 * @param error a `ReflectionError`, which is returned, or what `ReflectionStream` rejects with.
 * @param headers those of the response; undefined if none came.
 */
function reflectionError(
  error: unknown,
  headers: Metadata | undefined,
  target: string,
  timeLimitMs: number,
): ReflectionError {
  if (error instanceof ReflectionError) return error;
  const failure = error as Partial<ServiceError> & Error;
  const code = failure.code ?? status.UNKNOWN;

  // The ServiceError for a compression that grpc-js does not know has a code and details, but both are undefined.
  const isUnknownCompression = 'code' in failure && failure.details === undefined;
  const details = isUnknownCompression ? UNKNOWN_COMPRESSION : (failure.details ?? failure.message);
  const whyNotGrpc = notGrpc(details, headers ?? failure.metadata);
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
