import { fromBinary } from '@bufbuild/protobuf';
import { type FileDescriptorSet, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

/** @throws Error with a one-sentence message if the bytes are not a set */
export function readSet(bytes: Uint8Array): FileDescriptorSet {
  try {
    return fromBinary(FileDescriptorSetSchema, bytes);
  } catch (cause) {
    const wanted = 'a serialized google.protobuf.FileDescriptorSet, as `buf build -o` and `protoc` write it';
    throw new Error(`The descriptor set is not ${wanted}.`, { cause });
  }
}
