import type { Server } from '@grpc/grpc-js';
import { loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { descriptorSet } from '../gen/descriptor-set.js';

/** The paths of its methods. */
export const REFLECTION_PATHS = ['v1', 'v1alpha'].map(
  (version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
);

/** Adds `grpc.reflection.v1` and `v1alpha`, which list and describe the given services. */
export function addReflectionTo(server: Server, services: readonly string[]): void {
  // proto-loader rebuilds its file descriptors without dependencies and options, which real clients refuse,
  // so each definition gets the files as buf compiled them.
  const files = fromBinary(FileDescriptorSetSchema, descriptorSet).file;
  const fileDescriptorProtos = files.map((file) => Buffer.from(toBinary(FileDescriptorProtoSchema, file)));
  const definitions = Object.entries(loadFileDescriptorSetFromBuffer(Buffer.from(descriptorSet)));
  const described = definitions.map(([name, definition]) => [name, { ...definition, fileDescriptorProtos }]);
  const reflection = new ReflectionService(
    Object.fromEntries(described) as ConstructorParameters<typeof ReflectionService>[0],
    {
      services: [...services],
    },
  );
  reflection.addToServer(server);
}
