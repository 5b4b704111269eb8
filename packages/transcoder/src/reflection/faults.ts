import { create, createFileRegistry, isFieldSet } from '@bufbuild/protobuf';
import {
  type DescriptorProto,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as FieldType,
  type FieldDescriptorProto,
  FieldDescriptorProtoSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';
import type { FileSymbol } from './symbols.js';

const NAME = /^[A-Za-z0-9_]+$/;

/** Why nothing of a file can be used: it has another edition than those that are known, or extensions without names. */
export function faultOfFile({ name, syntax, edition, extension }: FileDescriptorProto): string | undefined {
  const odd = oddName(extension);
  if (odd !== undefined) return odd;
  try {
    createFileRegistry(create(FileDescriptorProtoSchema, { name, syntax, edition }), () => undefined);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** What no compiler would write in a message, an enum or a service, other than types that are missing. */
export function faultOf({ kind, proto }: FileSymbol): string | undefined {
  if (kind === 'enum') return oddName([proto, ...proto.value]);
  if (kind === 'service') return oddName([proto, ...proto.method]);
  const { field: fields, oneofDecl, extension } = proto;
  const odd = oddName([proto, ...fields, ...oneofDecl, ...extension]);
  if (odd !== undefined) return odd;
  const astray = fields.find((field) => !isInOneof(field, proto));
  if (astray !== undefined) return `"${astray.name}" is in a oneof that it lacks`;
  return proto.options?.mapEntry === true && !isEntry(proto) ? 'it is no entry of a map' : undefined;
}

function oddName(named: readonly { readonly name: string }[]): string | undefined {
  const odd = named.find(({ name }) => !NAME.test(name));
  return odd && `${JSON.stringify(odd.name)} is not a name`;
}

function isInOneof(field: FieldDescriptorProto, { oneofDecl }: DescriptorProto): boolean {
  return !isFieldSet(field, FieldDescriptorProtoSchema.field.oneofIndex) || field.oneofIndex in oneofDecl;
}

const NO_KEYS: readonly FieldType[] = [
  FieldType.DOUBLE,
  FieldType.FLOAT,
  FieldType.BYTES,
  FieldType.MESSAGE,
  FieldType.GROUP,
  FieldType.ENUM,
];

function isEntry({ field }: DescriptorProto): boolean {
  const [key, value] = [1, 2].map((number) => field.find((each) => each.number === number));
  const single = key?.label !== Label.REPEATED && value?.label !== Label.REPEATED;
  return key !== undefined && value !== undefined && single && !NO_KEYS.includes(key.type);
}
