import { type DescFile, type DescService, type FileRegistry, fromBinary } from '@bufbuild/protobuf';
import { BoolValueSchema } from '@bufbuild/protobuf/wkt';
import { BinaryReader } from '@bufbuild/protobuf/wire';

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
