import { clearField, clone, createFileRegistry, type FileRegistry, fromBinary } from '@bufbuild/protobuf';
import {
  file_google_protobuf_any,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  type FileDescriptorSet,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import { addToExtended, nameApart } from './completed-messages.js';

/** The types of the sets in use, since those of a large contract take seconds to build. */
const registries = new WeakMap<Uint8Array, FileRegistry>();

/**
 * The types of a set and the well-known ones, which an Any may hold although nothing in the set names them; without
 * comments, which would take most of the memory of a large contract.
 *
 * @param bytes a serialized `google.protobuf.FileDescriptorSet`, which must not change.
 * @throws Error with a one-sentence message if the bytes are not a set, or a file lacks one that it imports.
 */
export function registryOf(bytes: Uint8Array): FileRegistry {
  const known = registries.get(bytes);
  if (known !== undefined) return known;
  const set = readSet(bytes);
  for (const file of set.file) clearField(file, FileDescriptorProtoSchema.field.sourceCodeInfo);
  set.file.unshift(...missingWellKnownFiles(set));
  const registry = typesOf(set);
  for (const type of registry) {
    if (type.kind === 'message') nameApart(type);
    else if (type.kind === 'extension') addToExtended(type);
  }
  registries.set(bytes, registry);
  return registry;
}

/** @throws Error with a one-sentence message if a file lacks one that it imports. */
function typesOf(set: FileDescriptorSet): FileRegistry {
  const names = new Set(set.file.map(({ name }) => name));
  for (const { name, dependency } of set.file) {
    const missing = dependency.find((each) => !names.has(each));
    if (missing !== undefined)
      throw new Error(
        `The descriptor set lacks ${missing}, which ${name} imports; \`protoc\` needs \`--include_imports\`.`,
      );
  }
  return createFileRegistry(set);
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

const WELL_KNOWN = [
  file_google_protobuf_any,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
];

/** The files of well-known types that a set lacks. It may have these types in files with other names. */
function missingWellKnownFiles({ file: files }: FileDescriptorSet): FileDescriptorProto[] {
  const messages = files
    .filter((file) => file.package === 'google.protobuf')
    .flatMap((file) => file.messageType);
  const names = new Set([...files, ...messages].map(({ name }) => name));
  return WELL_KNOWN.filter(
    ({ proto }) => ![proto, ...proto.messageType].some(({ name }) => names.has(name)),
  ).map(({ proto }) => clone(FileDescriptorProtoSchema, proto));
}
