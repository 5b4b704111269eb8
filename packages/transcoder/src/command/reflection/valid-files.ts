import { create, createFileRegistry } from '@bufbuild/protobuf';
import {
  type DescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';
import { inOrder, type Link, linkFiles } from './link-files.js';
import type { TimeSlices } from './time-slices.js';
import { type FileSymbol, fullName } from './symbols.js';

/** Files that may have gaps. */
interface KnownFiles {
  readonly files: readonly FileDescriptorProto[];
  /** Their messages, enums and services, by full name. */
  readonly symbols: ReadonlyMap<string, FileSymbol>;
  /** The two files of each symbol with two different definitions. */
  readonly twice: ReadonlyMap<string, readonly [string, string]>;
}

/** Files that fit together. */
interface ValidFiles {
  /** Each file comes after those that it imports. */
  readonly files: readonly FileDescriptorProto[];
  /** Why messages, methods, services and so on are left out, by full name. */
  readonly reasons: ReadonlyMap<string, string>;
}

/** Reasons why symbols cannot be used, by full name. */
type Reasons = Map<string, string>;

/**
 * Leaves out of files what is not described whole, and whatever needs it: messages with a field of a missing type,
 * messages and methods with such a message, and services without another method.
 */
export async function validFiles(known: KnownFiles, slices: TimeSlices): Promise<ValidFiles> {
  const { symbols, twice } = known;
  const reasons: Reasons = new Map();
  const problems = new Map<FileDescriptorProto, string>();
  for (const file of known.files) {
    const problem = problemOf(file);
    if (problem !== undefined) problems.set(file, problem);
  }
  for (const { name, file } of symbols.values()) {
    const problem = problems.get(file);
    if (problem !== undefined) reasons.set(name, `${name} cannot be read, ${problem}`);
  }
  for (const [name, [firstFile, secondFile]] of twice)
    reasons.set(name, `the server defines ${name} twice, differently in ${firstFile} and ${secondFile}`);

  const links = await linkFiles(known.files, symbols, slices);
  const files = inOrder(known.files.filter((file) => !problems.has(file)));
  const dependents = await dependentsOf(symbols, links, files, reasons, slices);
  // The iteration includes those that are added during the loop.
  for (const [name, reason] of reasons) {
    for (const dependent of dependents.get(name) ?? [])
      if (!reasons.has(dependent)) reasons.set(dependent, reason);
  }
  for (const { kind, name, proto } of symbols.values()) {
    if (kind !== 'service' || proto.method.length === 0) continue;
    const [first, ...others] = proto.method.map((method) => reasons.get(fullName(name, method.name)));
    if (first !== undefined && !others.includes(undefined) && !reasons.has(name)) reasons.set(name, first);
  }
  for (const file of files) {
    prune(file, reasons);
    await slices.pause();
  }
  return { files, reasons };
}

/** What needs each symbol. Adds a reason for each use of a type that cannot be had. */
async function dependentsOf(
  symbols: ReadonlyMap<string, FileSymbol>,
  links: readonly Link[],
  files: readonly FileDescriptorProto[],
  reasons: Reasons,
  slices: TimeSlices,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const places = new Map(files.map((file, place) => [file, place] as const));
  const positionOf = (file: FileDescriptorProto): number => places.get(file) ?? -1;
  const dependents = new Map<string, string[]>();
  const add = (name: string, dependent: string): void => {
    const others = dependents.get(name);
    if (others === undefined) dependents.set(name, [dependent]);
    else others.push(dependent);
  };
  for (const { name, parent } of symbols.values()) if (parent !== undefined) add(parent, name);
  const because = (name: string, reason: string): void => {
    if (!reasons.has(name)) reasons.set(name, reason);
  };
  for await (const some of slices.of(links)) {
    for (const { use, target, reason } of some) {
      const { user, file } = use;
      if (target === undefined) because(user, reason);
      else if (positionOf(target.file) > positionOf(file)) {
        const both = `${file.name} and ${target.file.name}`;
        because(user, `it needs ${target.name}, and ${both} import each other`);
      } else add(target.name, user);
    }
  }
  return dependents;
}

function prune(file: FileDescriptorProto, reasons: Reasons): void {
  const { package: scope } = file;
  const isKept = keptIn(scope, reasons);
  file.enumType = file.enumType.filter(isKept);
  file.extension = file.extension.filter(isKept);
  file.messageType = file.messageType.filter(isKept);
  for (const message of file.messageType) pruneMessage(message, fullName(scope, message.name), reasons);
  file.service = file.service.filter(isKept);
  for (const service of file.service)
    service.method = service.method.filter(keptIn(fullName(scope, service.name), reasons));
}

function pruneMessage(message: DescriptorProto, name: string, reasons: Reasons): void {
  const isKept = keptIn(name, reasons);
  message.enumType = message.enumType.filter(isKept);
  message.extension = message.extension.filter(isKept);
  message.nestedType = message.nestedType.filter(isKept);
  for (const nested of message.nestedType) pruneMessage(nested, fullName(name, nested.name), reasons);
}

function keptIn(scope: string, reasons: Reasons): (element: { readonly name: string }) => boolean {
  return ({ name }) => !reasons.has(fullName(scope, name));
}

/** Why nothing of a file can be used: it has another edition than those that are known. */
function problemOf({ name, syntax, edition }: FileDescriptorProto): string | undefined {
  try {
    createFileRegistry(create(FileDescriptorProtoSchema, { name, syntax, edition }), () => undefined);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
