import { type DescFile, type DescService, type FileRegistry, fromBinary } from '@bufbuild/protobuf';
import { BoolValueSchema } from '@bufbuild/protobuf/wkt';
import { BinaryReader } from '@bufbuild/protobuf/wire';

/**
 * The services to serve, in the order of their names or, without names, of the set: those in files that are not marked
 * as imports.
 *
 * @param names full names: `library.v1.Library`
 * @throws Error with one sentence, if a name is none of a service
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

/** The field of a file in an image of buf that says whether it is an import: `ImageFileExtension`. */
const BUF_EXTENSION = 8042;

/** Whether buf marks a file as an import. Sets of other tools have no such marks. */
function isImport({ proto }: DescFile): boolean {
  const marks = proto.$unknown?.filter(({ no }) => no === BUF_EXTENSION) ?? [];
  // Its field `is_import` is encoded as the value of a BoolValue is.
  return marks.some(({ data }) => fromBinary(BoolValueSchema, new BinaryReader(data).bytes()).value);
}
