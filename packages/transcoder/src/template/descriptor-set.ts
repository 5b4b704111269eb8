import {
  clearField,
  clone,
  createFileRegistry,
  type DescFile,
  type DescService,
  type FileRegistry,
  fromBinary,
} from '@bufbuild/protobuf';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import {
  BoolValueSchema,
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
 * @throws Error with a one-sentence message if the bytes are not a set, or a file imports another that is missing.
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

/** @throws Error with a one-sentence message if a file imports another that is missing. */
function typesOf(set: FileDescriptorSet): FileRegistry {
  const names = new Set(set.file.map(({ name }) => name));
  for (const { name, dependency } of set.file) {
    const missing = dependency.find((importedName) => !names.has(importedName));
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

/** The files of the well-known types that an Any often holds. */
export const WELL_KNOWN = [
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

/**
 * The services to serve: the named ones, in the given order, or, without names, all in files that are not marked as
 * imports.
 *
 * @param names full names: `library.v1.Library`
 * @throws Error with a one-sentence message if a name is not that of a service
 */
export function servedServices(registry: FileRegistry, names?: readonly string[]): DescService[] {
  if (names === undefined) {
    return [...registry.files].filter((file) => !isImport(file)).flatMap(({ services }) => services);
  }
  return [...new Set(names)].map((name) => {
    const service = registry.getService(name);
    if (service === undefined) throw new Error(`The contract has no service "${name}".`);
    return service;
  });
}

/** The number of the field in which a buf image says whether a file is an import: `ImageFileExtension`. */
const BUF_EXTENSION = 8042;

/** Whether buf marks a file as an import. Sets of other tools have no such marks. */
function isImport({ proto }: DescFile): boolean {
  const marks = proto.$unknown?.filter(({ no }) => no === BUF_EXTENSION) ?? [];
  // Its field `is_import` has the same encoding as the value of a BoolValue.
  return marks.some(({ data }) => fromBinary(BoolValueSchema, new BinaryReader(data).bytes()).value);
}
