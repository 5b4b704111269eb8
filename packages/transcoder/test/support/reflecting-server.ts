import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { create, createFileRegistry, fromBinary, fromJson, toBinary, toJson } from '@bufbuild/protobuf';
import type { DescMethod, FileRegistry, JsonObject, Message, MessageInitShape } from '@bufbuild/protobuf';
import {
  type FileDescriptorSet,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import {
  Metadata,
  Server,
  type ServerCredentials,
  type ServerDuplexStream,
  status,
  type UntypedHandleCall,
  type handleUnaryCall,
  type handleServerStreamingCall,
} from '@grpc/grpc-js';
import {
  ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
  type ServerReflectionRequest,
  type ServerReflectionResponse,
} from '../../src/gen/grpc/reflection/v1/reflection_pb.js';
import { bind, BYTES } from './grpc-server.js';
import { greeterDescriptorSet } from './library-contract.js';

/** How a server describes itself. */
export interface Reflecting {
  /** Default: the greeter. */
  readonly descriptorSet?: Uint8Array;
  /** The versions of server reflection that it supports. Default: both. */
  readonly versions?: readonly ('v1' | 'v1alpha')[];
  /** The services that it lists besides those of reflection. Default: those of the set. */
  readonly listed?: readonly string[];
  /** Whether it sends a file together with all its imports. Default: true. */
  readonly transitive?: boolean;
  /** Files of the set that it does not have. Default: none. */
  readonly lacking?: readonly string[];
  /** Unary calls fail with this `google.rpc.Status`, serialized. Default: they succeed. */
  readonly failure?: Uint8Array;
  /** Streams wait for this before the last greeting. Default: nothing. */
  readonly held?: Promise<void>;
  /** Replaces the implementation of reflection. */
  readonly reflection?: (stream: ReflectionCall) => void;
  /** Default: any loopback port. */
  readonly address?: string;
  /** Default: no TLS. */
  readonly identity?: ServerCredentials;
}

export type ReflectionCall = ServerDuplexStream<ServerReflectionRequest, ServerReflectionResponse>;

/** A grpc-js server with reflection. */
interface ReflectingServer {
  /** `127.0.0.1:50051` */
  readonly address: string;
  /** The reflection requests so far: `listServices *`. */
  readonly questions: readonly string[];
  /** The name of a method for each greeting so far. */
  readonly calls: readonly string[];
  /** Closes its connections. */
  disconnect(): void;
  /** Stops it and closes its connections. */
  close(): void;
}

/** Starts a server whose methods greet the name in their requests. Streams do so three times. */
export async function startReflecting({
  descriptorSet = greeterDescriptorSet,
  versions = ['v1', 'v1alpha'],
  address,
  identity,
  ...reflecting
}: Reflecting = {}): Promise<ReflectingServer> {
  const server = new Server();
  const calls: string[] = [];
  const set = fromBinary(FileDescriptorSetSchema, descriptorSet);
  const registry = createFileRegistry(set);
  for (const { services } of registry.files)
    for (const { methods } of services)
      for (const method of methods) addMethod(server, method, calls, reflecting);
  const questions: string[] = [];
  for (const version of versions) {
    const method = {
      ...BYTES,
      path: `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      requestStream: true,
      responseStream: true,
      requestDeserialize: (bytes: Buffer) => fromBinary(ServerReflectionRequestSchema, bytes),
      responseSerialize: (message: ServerReflectionResponse) =>
        Buffer.from(toBinary(ServerReflectionResponseSchema, message)),
    } as const;
    const answering = reflecting.reflection ?? reflectionOf(set, registry, reflecting, questions);
    server.addService({ Info: method }, { Info: answering as UntypedHandleCall });
  }
  const bound = await bind(server, address, identity);
  return {
    address: bound,
    questions,
    calls,
    disconnect: () => {
      server.drain(bound, 0);
    },
    close: () => {
      server.forceShutdown();
    },
  };
}

function addMethod(
  server: Server,
  method: DescMethod,
  calls: string[],
  { failure, held = Promise.resolve() }: Reflecting,
): void {
  const { input, output, parent, name, methodKind } = method;
  const greet = (request: Buffer): Buffer => {
    calls.push(name);
    const asked = toJson(input, fromBinary(input, request)) as JsonObject;
    return Buffer.from(toBinary(output, fromJson(output, { text: `${name} ${asked['name'] as string}` })));
  };
  const refusal = new Metadata();
  if (failure !== undefined) refusal.set('grpc-status-details-bin', Buffer.from(failure));
  const unary: handleUnaryCall<Buffer, Buffer> = ({ request }, callback) => {
    if (failure === undefined) callback(null, greet(request));
    else callback({ code: status.NOT_FOUND, metadata: refusal });
  };
  const stream: handleServerStreamingCall<Buffer, Buffer> = (call) => {
    for (let count = 0; count < 2; count += 1) call.write(greet(call.request));
    void held.then(() => {
      call.write(greet(call.request));
      call.end();
    });
  };
  const definition = {
    ...BYTES,
    path: `/${parent.typeName}/${name}`,
    requestStream: methodKind === 'client_streaming' || methodKind === 'bidi_streaming',
    responseStream: methodKind !== 'unary',
  } as const;
  server.addService({ [name]: definition }, { [name]: definition.responseStream ? stream : unary });
}

type Response = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>['messageResponse']>;

/** Implements reflection by the response to each request. */
export function answering(
  answer: (asked: ServerReflectionRequest) => Response,
): (stream: ReflectionCall) => void {
  return (stream) => {
    stream.on('data', (asked: ServerReflectionRequest) => {
      stream.write(create(ServerReflectionResponseSchema, { messageResponse: answer(asked) }));
    });
    stream.on('end', () => {
      stream.end();
    });
  };
}

/** The list of services. */
export const listed = (names: readonly string[]): Response => ({
  case: 'listServicesResponse',
  value: { service: names.map((name) => ({ name })) },
});

export type File = Exclude<MessageInitShape<typeof FileDescriptorProtoSchema>, Message>;

/** The response with these files; that of a server without them for undefined. */
export const files = (protos: readonly (File | Uint8Array)[] | undefined): Response =>
  protos === undefined
    ? { case: 'errorResponse', value: { errorCode: status.NOT_FOUND } }
    : { case: 'fileDescriptorResponse', value: { fileDescriptorProto: protos.map(bytesOf) } };

function bytesOf(proto: File | Uint8Array): Uint8Array {
  return proto instanceof Uint8Array
    ? proto
    : toBinary(FileDescriptorProtoSchema, create(FileDescriptorProtoSchema, proto));
}

interface Recorded {
  readonly version: string;
  readonly request: string;
  readonly response: string;
}

/** The responses of a grpc-go 1.81.1 server, which `grpc-go/recorder` recorded. */
export function asRecorded(version: 'v1' | 'v1alpha'): (stream: ReflectionCall) => void {
  const recorded = readFileSync(resolve(import.meta.dirname, '../grpc-go/reflection.jsonl'), 'utf8');
  const answers = new Map(
    recorded
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Recorded)
      .filter((line) => line.version === version)
      .map(({ request, response }) => [request, response]),
  );
  return answering((asked) => {
    const request = Buffer.from(toBinary(ServerReflectionRequestSchema, asked)).toString('base64');
    const response = Buffer.from(String(answers.get(request)), 'base64');
    return fromBinary(ServerReflectionResponseSchema, response).messageResponse;
  });
}

/** Implements what a client needs of the protocol to get the files of all services and messages. */
function reflectionOf(
  set: FileDescriptorSet,
  registry: FileRegistry,
  { listed: listedNames, transitive = true, lacking = [] }: Reflecting,
  questions: string[],
): (stream: ReflectionCall) => void {
  const services = [...registry.files].flatMap((file) => file.services.map(({ typeName }) => typeName));
  const names = [...(listedNames ?? services), 'grpc.reflection.v1.ServerReflection'];
  const add = (name: string, to: Map<string, Uint8Array>): Map<string, Uint8Array> => {
    const file = set.file.find((candidate) => candidate.name === name && !lacking.includes(name));
    if (file === undefined || to.has(name)) return to;
    to.set(name, toBinary(FileDescriptorProtoSchema, file));
    if (transitive) for (const imported of file.dependency) add(imported, to);
    return to;
  };
  return answering(({ messageRequest: { case: asked, value } }) => {
    const name = value as string;
    questions.push(`${asked} ${name}`);
    if (asked === 'listServices') return listed(names);
    const symbol = registry.getService(name) ?? registry.getMessage(name);
    const file = asked === 'fileByFilename' ? name : symbol?.file.proto.name;
    const found = [...add(file ?? '', new Map()).values()];
    return found.length === 0
      ? { case: 'errorResponse', value: { errorCode: status.NOT_FOUND, errorMessage: `no ${name}` } }
      : files(found);
  });
}
