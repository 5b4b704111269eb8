import type { DescriptorProto, FieldDescriptorProto, FileDescriptorProto } from '@bufbuild/protobuf/wkt';

/**
 * Completes descriptors that lack what protoc adds, such as those that the npm package `@grpc/reflection` sends: their
 * fields name types relative to the scope and have no JSON names, and their files have no imports. Types get their full
 * names, fields get their JSON names, and each file imports the files of the types that it uses.
 */
export function linkFiles(files: readonly FileDescriptorProto[]): void {
  const homes = new Map(files.flatMap((file) => typesOf(file).map((name) => [name, file])));
  for (const file of files) {
    const link = (name: string, scope: string): string => {
      const full = fullName(name, scope, homes);
      const home = homes.get(full);
      if (home !== undefined && home !== file && !file.dependency.includes(home.name))
        file.dependency.push(home.name);
      return `.${full}`;
    };
    for (const message of file.messageType) linkMessage(message, joined(file.package, message.name), link);
    for (const extension of file.extension) linkField(extension, file.package, link);
    for (const method of file.service.flatMap((service) => service.method)) {
      method.inputType = link(method.inputType, file.package);
      method.outputType = link(method.outputType, file.package);
    }
  }
}

type Link = (name: string, scope: string) => string;

function linkMessage(message: DescriptorProto, scope: string, link: Link): void {
  // `@grpc/reflection` lists extensions among the fields of the message that they extend, under names with a leading
  // dot.
  message.field = message.field.filter(({ name }) => !name.startsWith('.'));
  for (const field of message.field) linkField(field, scope, link);
  for (const nested of message.nestedType) linkMessage(nested, joined(scope, nested.name), link);
}

function linkField(field: FieldDescriptorProto, scope: string, link: Link): void {
  if (field.typeName !== '') field.typeName = link(field.typeName, scope);
  if (field.jsonName === '') field.jsonName = jsonName(field.name);
}

/** The default JSON name of a field: `created_at` becomes `createdAt`. */
function jsonName(name: string): string {
  return name.replace(/_+(.?)/g, (_, next: string) => next.toUpperCase());
}

/**
 * Resolves a name from the innermost scope outwards: `Inner` in `a.v1.Outer` is `a.v1.Outer.Inner` before `a.v1.Inner`.
 */
function fullName(name: string, scope: string, homes: ReadonlyMap<string, unknown>): string {
  if (name.startsWith('.')) return name.slice(1);
  for (let outer = scope; outer !== ''; outer = outer.slice(0, Math.max(0, outer.lastIndexOf('.')))) {
    if (homes.has(joined(outer, name))) return joined(outer, name);
  }
  return name;
}

/** The full names of the messages and enums of a file. */
function typesOf({ package: scope, messageType, enumType }: FileDescriptorProto): string[] {
  return [...enumType.map(({ name }) => joined(scope, name)), ...namesIn(messageType, scope)];
}

function namesIn(messages: readonly DescriptorProto[], scope: string): string[] {
  return messages.flatMap(({ name, nestedType, enumType }) => {
    const own = joined(scope, name);
    return [own, ...enumType.map((each) => joined(own, each.name)), ...namesIn(nestedType, own)];
  });
}

function joined(scope: string, name: string): string {
  return scope === '' ? name : `${scope}.${name}`;
}
