import { create, type Message, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import {
  type ServerReflectionRequest,
  ServerReflectionResponseSchema,
} from '../../src/gen/grpc/reflection/v1/reflection_pb.js';
import { opening } from './opening.js';
import { type ReflectionCall, startReflecting } from './reflecting-server.js';

export type File = Exclude<MessageInitShape<typeof FileDescriptorProtoSchema>, Message>;

/** What a server answers, right or wrong. It has nothing else. */
export interface Lies {
  readonly services: readonly string[];
  /** By the name of a symbol or of a file. */
  readonly answers: Readonly<Record<string, readonly (File | Uint8Array)[]>>;
}

/** Starts a server whose reflection answers as told. */
export async function startLying(lies: Lies) {
  const questions: string[] = [];
  const reflection = (stream: ReflectionCall): void => {
    stream.on('data', ({ messageRequest: { value } }: ServerReflectionRequest) => {
      const name = value as string;
      questions.push(name);
      const messageResponse = name === '*' ? listed(lies.services) : files(lies.answers[name]);
      stream.write(create(ServerReflectionResponseSchema, { messageResponse }));
    });
    stream.on('end', () => stream.end());
  };
  return { ...opening(await startReflecting({ reflection })), questions };
}

type Response = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>['messageResponse']>;

/** The list of services. */
export const listed = (names: readonly string[]): Response => ({
  case: 'listServicesResponse',
  value: { service: names.map((name) => ({ name })) },
});

/** The answer with the files; that of a server without them for undefined. */
export const files = (protos: readonly (File | Uint8Array)[] | undefined): Response =>
  protos === undefined
    ? { case: 'errorResponse', value: { errorCode: status.NOT_FOUND } }
    : {
        case: 'fileDescriptorResponse',
        value: { fileDescriptorProto: protos.map((proto) => bytesOf(proto)) },
      };

function bytesOf(proto: File | Uint8Array): Uint8Array {
  return proto instanceof Uint8Array
    ? proto
    : toBinary(FileDescriptorProtoSchema, create(FileDescriptorProtoSchema, proto));
}
