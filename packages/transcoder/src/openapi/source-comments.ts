import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

/** An element of a file: it has a name, and may contain further elements. */
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
 * The comments of the elements of a contract, leading or else trailing, by full proto name. The name of an enum value
 * follows that of its enum.
 *
 * @param descriptorSet a serialized `google.protobuf.FileDescriptorSet`
 */
export function sourceComments(descriptorSet: Uint8Array): Record<string, string> {
  const comments: Record<string, string> = {};
  for (const file of fromBinary(FileDescriptorSetSchema, descriptorSet).file) {
    const { location = [] } = file.sourceCodeInfo ?? {};
    if (location.length === 0) continue;
    const names = new Map(namesByPlace(file, file.package, inFile, []));
    names.set(String(PACKAGE), file.package);
    for (const { path, leadingComments, trailingComments } of location) {
      const comment = leadingComments === '' ? trailingComments : leadingComments;
      const name = names.get(path.join());
      if (comment !== '' && name !== undefined) comments[name] ??= comment;
    }
  }
  return comments;
}

/** The full names of an element and of everything in it, by their places in the source information. */
function* namesByPlace(
  element: Element,
  name: string,
  lists: Lists,
  place: readonly number[],
): Generator<[place: string, name: string]> {
  yield [place.join(), name];
  for (const [number, [property, next]] of lists) {
    for (const [index, child] of (element[property] as readonly Element[]).entries())
      yield* namesByPlace(child, `${name}.${child.name}`, next(), [...place, number, index]);
  }
}
