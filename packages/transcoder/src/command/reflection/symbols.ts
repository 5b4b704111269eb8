import {
  type DescriptorProto,
  type EnumDescriptorProto,
  type FieldDescriptorProto,
  FieldDescriptorProto_Type as FieldType,
  type FileDescriptorProto,
  type MethodDescriptorProto,
  type ServiceDescriptorProto,
} from '@bufbuild/protobuf/wkt';

type Declared =
  | { readonly kind: 'message'; readonly proto: DescriptorProto }
  | { readonly kind: 'enum'; readonly proto: EnumDescriptorProto }
  | { readonly kind: 'service'; readonly proto: ServiceDescriptorProto };

/** A message, an enum or a service of a file. */
export type FileSymbol = Declared & {
  /** The full name: `library.v1.Shelf`. */
  readonly name: string;
  readonly file: FileDescriptorProto;
  /** The full name of the message that it is nested in; undefined for none. */
  readonly parent: string | undefined;
};

/** A place where a file names a type. */
export interface TypeUse {
  readonly kind: 'message' | 'enum';
  /** The name as it is written: absolute with a leading dot, otherwise relative to the scope. */
  readonly written: string;
  readonly scope: string;
  readonly file: FileDescriptorProto;
  /** The full name of the message, method or extension that needs the type. */
  readonly user: string;
  /** Replaces the name. */
  write(name: string): void;
}

/** The services, enums and messages of a file; each message before those in it. */
export function* symbolsOf(file: FileDescriptorProto): Generator<FileSymbol> {
  const { package: scope } = file;
  for (const proto of file.service)
    yield { kind: 'service', proto, name: fullName(scope, proto.name), file, parent: undefined };
  for (const proto of file.enumType)
    yield { kind: 'enum', proto, name: fullName(scope, proto.name), file, parent: undefined };
  for (const proto of file.messageType)
    yield* symbolsIn({ kind: 'message', proto, name: fullName(scope, proto.name), file, parent: undefined });
}

function* symbolsIn(message: FileSymbol & { readonly kind: 'message' }): Generator<FileSymbol> {
  yield message;
  const { file, name: parent, proto: outer } = message;
  for (const proto of outer.enumType)
    yield { kind: 'enum', proto, name: fullName(parent, proto.name), file, parent };
  for (const proto of outer.nestedType)
    yield* symbolsIn({ kind: 'message', proto, name: fullName(parent, proto.name), file, parent });
}

/** Where a type is used. */
type UsePlace = Pick<TypeUse, 'scope' | 'file' | 'user'>;

/** The places where a file names types. */
export function* typeUses(file: FileDescriptorProto): Generator<TypeUse> {
  for (const { kind, name, proto } of symbolsOf(file)) {
    if (kind === 'message') {
      for (const field of proto.field) yield* fieldUses(field, { file, scope: name, user: name });
      for (const extension of proto.extension) yield* extensionUses(extension, file, name);
    } else if (kind === 'service') {
      for (const method of proto.method) {
        yield methodUse(method, 'inputType', file, name);
        yield methodUse(method, 'outputType', file, name);
      }
    }
  }
  for (const extension of file.extension) yield* extensionUses(extension, file, file.package);
}

function* fieldUses(field: FieldDescriptorProto, place: UsePlace): Generator<TypeUse> {
  const { type, typeName } = field;
  if (type !== FieldType.MESSAGE && type !== FieldType.GROUP && type !== FieldType.ENUM) return;
  yield {
    kind: type === FieldType.ENUM ? 'enum' : 'message',
    written: typeName,
    ...place,
    write: (name) => {
      field.typeName = name;
    },
  };
}

function* extensionUses(
  extension: FieldDescriptorProto,
  file: FileDescriptorProto,
  scope: string,
): Generator<TypeUse> {
  const write = (name: string): void => {
    extension.extendee = name;
  };
  const place = { file, scope, user: fullName(scope, extension.name) };
  yield { kind: 'message', written: extension.extendee, ...place, write };
  yield* fieldUses(extension, place);
}

function methodUse(
  method: MethodDescriptorProto,
  key: 'inputType' | 'outputType',
  file: FileDescriptorProto,
  service: string,
): TypeUse {
  return {
    kind: 'message',
    written: method[key],
    scope: service,
    file,
    user: fullName(service, method.name),
    write: (name) => {
      method[key] = name;
    },
  };
}

/**
 * The full names that a use may stand for, from the innermost scope outwards: `Inner` in `a.v1.Outer` is
 * `a.v1.Outer.Inner` before `a.v1.Inner`.
 */
export function* readings({ written, scope }: TypeUse): Generator<string> {
  if (written.startsWith('.')) {
    yield written.slice(1);
    return;
  }
  for (let outer = scope; outer !== ''; outer = parentOf(outer)) yield fullName(outer, written);
  yield written;
}

/** The symbol that a use stands for; undefined if there is none of its kind. */
export function symbolFor(use: TypeUse, symbols: ReadonlyMap<string, FileSymbol>): FileSymbol | undefined {
  for (const name of readings(use)) {
    const symbol = symbols.get(name);
    if (symbol?.kind === use.kind) return symbol;
  }
  return undefined;
}

/** @param scope empty for a file without a package. */
export function fullName(scope: string, name: string): string {
  return scope === '' ? name : `${scope}.${name}`;
}

/** The full name of what a symbol is in: `a.v1` for `a.v1.Outer`; empty for a symbol without a package. */
export function parentOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf('.')));
}
