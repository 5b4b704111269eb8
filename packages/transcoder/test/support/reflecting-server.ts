import { create, createFileRegistry, fromBinary, fromJson, toBinary, toJson } from '@bufbuild/protobuf';
import type { DescMethod, FileRegistry, JsonObject, MessageInitShape } from '@bufbuild/protobuf';
import {
  type FileDescriptorSet,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import {
  Metadata,
  Server,
  ServerCredentials,
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
  address = '127.0.0.1:0',
  identity = ServerCredentials.createInsecure(),
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
      path: `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      requestStream: true,
      responseStream: true,
      requestSerialize: asIs,
      requestDeserialize: (bytes: Buffer) => fromBinary(ServerReflectionRequestSchema, bytes),
      responseSerialize: (message: ServerReflectionResponse) =>
        Buffer.from(toBinary(ServerReflectionResponseSchema, message)),
      responseDeserialize: asIs,
    } as const;
    const answering = reflecting.reflection ?? reflectionOf(set, registry, reflecting, questions);
    server.addService({ Info: method }, { Info: answering as UntypedHandleCall });
  }
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, identity, (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  const bound = address.replace(/:0$/, `:${port}`);
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

const asIs = (bytes: Buffer): Buffer => bytes;

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
    path: `/${parent.typeName}/${name}`,
    requestStream: methodKind === 'client_streaming' || methodKind === 'bidi_streaming',
    responseStream: methodKind !== 'unary',
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  } as const;
  server.addService(
    { [name]: definition },
    {
      [name]: definition.responseStream ? stream : unary,
    },
  );
}

/** Implements what a client needs of the protocol to get the files of all services and messages. */
function reflectionOf(
  { file: files }: FileDescriptorSet,
  registry: FileRegistry,
  { listed, transitive = true, lacking = [] }: Reflecting,
  questions: string[],
): (stream: ReflectionCall) => void {
  const services = [...registry.files].flatMap((file) => file.services.map(({ typeName }) => typeName));
  const names = [...(listed ?? services), 'grpc.reflection.v1.ServerReflection'];
  const add = (name: string, to: Map<string, Uint8Array>): Map<string, Uint8Array> => {
    const file = files.find((each) => each.name === name && !lacking.includes(name));
    if (file === undefined || to.has(name)) return to;
    to.set(name, toBinary(FileDescriptorProtoSchema, file));
    if (transitive) for (const imported of file.dependency) add(imported, to);
    return to;
  };
  const fileResponse = (name = ''): Response => {
    const fileDescriptorProto = [...add(name, new Map()).values()];
    return fileDescriptorProto.length === 0
      ? { case: 'errorResponse', value: { errorCode: status.NOT_FOUND, errorMessage: `no ${name}` } }
      : { case: 'fileDescriptorResponse', value: { fileDescriptorProto } };
  };
  const answer = ({ case: asked, value }: ServerReflectionRequest['messageRequest']): Response => {
    const name = value as string;
    questions.push(`${asked} ${name}`);
    if (asked === 'listServices')
      return { case: 'listServicesResponse', value: { service: names.map((each) => ({ name: each })) } };
    const symbol = registry.getService(name) ?? registry.getMessage(name);
    return fileResponse(asked === 'fileByFilename' ? name : symbol?.file.proto.name);
  };
  return (stream) => {
    stream.on('data', ({ messageRequest }: ServerReflectionRequest) => {
      stream.write(create(ServerReflectionResponseSchema, { messageResponse: answer(messageRequest) }));
    });
    stream.on('end', () => {
      stream.end();
    });
  };
}

type Response = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>['messageResponse']>;
