import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

/** An element of a proto file, such as a message or a field: it has a name, and may contain lists of further elements. */
type Element = Readonly<Record<string, unknown>> & { readonly name: string };

/** A list of elements in an element. */
interface List {
  readonly property: string;
  /** The number of its field in google/protobuf/descriptor.proto. */
  readonly number: number;
  /** The lists in each of its elements; a function, since messages are in messages. */
  readonly lists: () => readonly List[];
}

const none: readonly List[] = [];
const inEnum: readonly List[] = [{ property: 'value', number: 2, lists: () => none }];
const inService: readonly List[] = [{ property: 'method', number: 2, lists: () => none }];
const inMessage: readonly List[] = [
  { property: 'field', number: 2, lists: () => none },
  { property: 'nestedType', number: 3, lists: () => inMessage },
  { property: 'enumType', number: 4, lists: () => inEnum },
];
const inFile: readonly List[] = [
  { property: 'messageType', number: 4, lists: () => inMessage },
  { property: 'enumType', number: 5, lists: () => inEnum },
  { property: 'service', number: 6, lists: () => inService },
];
/** The number of the field `package` of a file, whose comment is that of the package. */
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
      // A package has comments in several files; the first counts.
      if (comment !== '' && name !== undefined) comments[name] ??= comment;
    }
  }
  return comments;
}

/**
 * The full names of an element and of everything in it, by their places in the source information: the number of each list
 * that leads to an element, and its index there.
 *
 * @param name the full name of the element.
 * @param place the numbers and indexes that lead to the element.
 */
function* namesByPlace(
  element: Element,
  name: string,
  lists: readonly List[],
  place: readonly number[],
): Generator<[place: string, name: string]> {
  yield [place.join(), name];
  for (const list of lists) {
    const children = element[list.property] as readonly Element[];
    for (const [index, child] of children.entries())
      yield* namesByPlace(child, `${name}.${child.name}`, list.lists(), [...place, list.number, index]);
  }
}
