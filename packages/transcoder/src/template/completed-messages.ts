import type { DescExtension, DescField, DescMessage, DescOneof } from '@bufbuild/protobuf';
import { protoCamelCase } from '@bufbuild/protobuf/reflect';

/**
 * Gives each field of a message a JSON name of its own: the default name where the descriptor set has none, and the proto
 * name where several fields have the same, as `foo_bar` and `fooBar` do in proto2. Otherwise a response would have only
 * one of them. Their local names, which are those in memory, are told apart in the same way.
 */
export function nameApart({ fields, members, oneofs }: DescMessage): void {
  for (const field of fields)
    if (field.jsonName === '') rename(field, { jsonName: protoCamelCase(field.name) });
  // Again after each renaming, since a field's proto name may be the JSON name of another field.
  let isRenamed = true;
  while (isRenamed) isRenamed = renameRepeated(fields, 'jsonName');

  for (const group of [members, ...oneofs.map((oneof) => oneof.fields)]) renameRepeated(group, 'localName');
}

/**
 * Gives members with the same name their proto names, except the member whose proto name it is or, if there is none,
 * the last member.
 *
 * @returns whether a member has been renamed.
 */
function renameRepeated<Key extends 'jsonName' | 'localName'>(
  members: readonly (Named & Readonly<Record<Key, string>>)[],
  key: Key,
): boolean {
  const owners = new Map(members.map((member) => [member[key], member]));
  for (const member of members) if (member[key] === member.name) owners.set(member[key], member);

  const renamed = members.filter((member) => owners.get(member[key]) !== member);
  for (const member of renamed) rename(member, { [key]: member.name });
  return renamed.length > 0;
}

type Named = Pick<DescField | DescOneof, 'name'>;

function rename(member: Named, names: Readonly<Record<string, string>>): void {
  Object.assign(member, names);
}

/**
 * Makes an extension (proto2) a field of the message that it extends, so that its value is read, written, checked and
 * described as that of any other field. Its name, in JSON and in violations, is that of ProtoJSON: `[library.v1.rating]`.
 */
export function addToExtended(extension: DescExtension): void {
  const { extendee: parent, jsonName: name, typeName: localName } = extension;
  const field = { ...extension, kind: 'field', parent, name, localName } as DescField;
  parent.fields.push(field);
  parent.members.push(field);
}
