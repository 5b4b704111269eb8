import type { DescExtension, DescField, DescMessage, DescOneof } from '@bufbuild/protobuf';
import { protoCamelCase } from '@bufbuild/protobuf/reflect';

/**
 * Gives each field of a message a JSON name of its own: the default one where a set has none, and the proto name where
 * several fields have the same, as `foo_bar` and `fooBar` do in proto2. A response would otherwise have only one of them.
 * So that a message in memory has both, their local names are told apart in the same way.
 */
export function nameApart({ fields, members, oneofs }: DescMessage): void {
  for (const field of fields)
    if (field.jsonName === '') rename(field, { jsonName: protoCamelCase(field.name) });
  // Again, since the proto name may be the JSON name of another field.
  while (renameRepeated(fields, 'jsonName'));
  for (const group of [members, ...oneofs.map((oneof) => oneof.fields)]) renameRepeated(group, 'localName');
}

/** Gives members with the same name their proto names, except the one whose proto name it is, and returns whether any has. */
function renameRepeated<Key extends 'jsonName' | 'localName'>(
  members: readonly (Named & Readonly<Record<Key, string>>)[],
  key: Key,
): boolean {
  const byProtoName = [...members].sort(
    (one, other) => Number(one.name === one[key]) - Number(other.name === other[key]),
  );
  const owners = new Map(byProtoName.map((member) => [member[key], member]));
  const others = members.filter((member) => owners.get(member[key]) !== member);
  for (const member of others) rename(member, { [key]: member.name });
  return others.length > 0;
}

type Named = Pick<DescField | DescOneof, 'name'>;

function rename(member: Named, names: Readonly<Record<string, string>>): void {
  Object.assign(member, names);
}

/**
 * Makes an extension (proto2) a field of the message that it extends, so that its value is read, written, checked and
 * described as that of any other field. Its names are that of ProtoJSON: `[library.v1.rating]`.
 */
export function addToExtended(extension: DescExtension): void {
  const { extendee: parent, jsonName: name, typeName: localName } = extension;
  const field = { ...extension, kind: 'field', parent, name, localName } as DescField;
  parent.fields.push(field);
  parent.members.push(field);
}
