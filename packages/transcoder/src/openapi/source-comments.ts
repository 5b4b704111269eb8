import { fromBinary } from '@bufbuild/protobuf';
import { type FileDescriptorProto, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

/** An element of a file that has a name and further elements. */
type Element = Readonly<Record<string, unknown>> & { readonly name: string };

/** The lists of elements in an element, by the number of their field in google/protobuf/descriptor.proto. */
type Lists = ReadonlyMap<number, readonly [property: string, lists: () => Lists]>;

const none: Lists = new Map();
const inEnum: Lists = new Map([[2, ['value', () => none]]]);
const inService: Lists = new Map([[2, ['method', () => none]]]);
const inMessage: Lists = new Map<number, readonly [string, () => Lists]>([
  [2, ['field', () => none]],
  [3, ['nestedType', () => inMessage]],
  [4, ['enumType', () => inEnum]],
]);
const inFile: Lists = new Map<number, readonly [string, () => Lists]>([
  [4, ['messageType', () => inMessage]],
  [5, ['enumType', () => inEnum]],
  [6, ['service', () => inService]],
]);
const PACKAGE = 2;

/**
 * The comments above or beside the elements of a contract, by full proto name; that of an enum's value follows the name
 * of its enum.
 *
 * @param descriptorSet a serialized `google.protobuf.FileDescriptorSet`
 */
export function sourceComments(descriptorSet: Uint8Array): Record<string, string> {
  const comments: Record<string, string> = {};
  for (const file of fromBinary(FileDescriptorSetSchema, descriptorSet).file) {
    for (const { path, leadingComments, trailingComments } of file.sourceCodeInfo?.location ?? []) {
      const comment = leadingComments === '' ? trailingComments : leadingComments;
      const name = comment === '' ? undefined : nameAt(file, path);
      if (name !== undefined) comments[name] ??= comment;
    }
  }
  return comments;
}

/** The full name of the element at a path of field numbers and indices; undefined for anything without a name. */
function nameAt(file: FileDescriptorProto, path: readonly number[]): string | undefined {
  if (path[0] === PACKAGE) return file.package;
  let element = file as unknown as Element;
  let name = file.package;
  let lists = inFile;
  for (let step = 0; step < path.length; step += 2) {
    const [property, next] = lists.get(Number(path[step])) ?? [];
    if (property === undefined || next === undefined) return undefined;
    element = (element[property] as Element[])[Number(path[step + 1])] as Element;
    name += `.${element.name}`;
    lists = next();
  }
  return name;
}
