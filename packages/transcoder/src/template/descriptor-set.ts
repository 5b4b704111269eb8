import { clearField, createFileRegistry, type FileRegistry, fromBinary } from '@bufbuild/protobuf';
import {
  FileDescriptorProtoSchema,
  type FileDescriptorSet,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';

/** The types of the sets in use, since those of a large contract take seconds to build. */
const registries = new WeakMap<Uint8Array, FileRegistry>();

/**
 * The types of a set, without comments, which would take most of the memory of a large contract.
 *
 * @param bytes a serialized `google.protobuf.FileDescriptorSet`, which must not change.
 * @throws Error with a one-sentence message if the bytes are not a set.
 */
export function registryOf(bytes: Uint8Array): FileRegistry {
  const known = registries.get(bytes);
  if (known !== undefined) return known;
  const set = readSet(bytes);
  for (const file of set.file) clearField(file, FileDescriptorProtoSchema.field.sourceCodeInfo);
  const registry = createFileRegistry(set);
  registries.set(bytes, registry);
  return registry;
}

/** @throws Error with a one-sentence message if the bytes are not a set. */
function readSet(bytes: Uint8Array): FileDescriptorSet {
  try {
    return fromBinary(FileDescriptorSetSchema, bytes);
  } catch (cause) {
    const wanted = 'a serialized google.protobuf.FileDescriptorSet, as `buf build -o` and `protoc` write it';
    throw new Error(`The descriptor set is not ${wanted}.`, { cause });
  }
}
