import type { DescriptorProto, FileDescriptorProto } from '@bufbuild/protobuf/wkt';
import type { TimeSlices } from './time-slices.js';
import { type FileSymbol, symbolFor, type TypeUse, typeUses } from './symbols.js';

/**
 * Removes the extensions from the fields of messages: the npm package `@grpc/reflection` lists extensions among the fields of the message that
 * they extend, under names with a leading dot.
 */
export function removeExtensions(messages: readonly DescriptorProto[]): void {
  for (const message of messages) {
    message.field = message.field.filter(({ name }) => !name.startsWith('.'));
    removeExtensions(message.nestedType);
  }
}

/** A place where a file names a type, with the type or the reason why there is none. */
export type Link = { readonly use: TypeUse } & (
  | { readonly target: FileSymbol; readonly reason?: never }
  | { readonly target: undefined; readonly reason: string }
);

/**
 * Writes the full name of each type where it is used, and lets each file import the files of the types that it uses: as
 * the server sends them, a file may name types relative to their scope, or import them under another name than their file has.
 */
export async function linkFiles(
  files: readonly FileDescriptorProto[],
  symbols: ReadonlyMap<string, FileSymbol>,
  slices: TimeSlices,
): Promise<Link[]> {
  const known = new Set(files.map(({ name }) => name));
  const links: Link[] = [];
  for (const file of files) {
    const { dependency, name } = file;
    const imports = new Set(dependency);
    const missing = dependency.filter((importedName) => !known.has(importedName));
    const whatIsMissing =
      missing.length === 0 ? '' : `; it lacks ${missing.join(' and ')}, which ${name} imports`;
    for await (const uses of slices.of(typeUses(file))) {
      for (const use of uses) {
        const target = symbolFor(use, symbols);
        if (target === undefined) {
          const type = use.written.replace(/^\./, '');
          links.push({
            use,
            target,
            reason: `it needs ${type}, which the server does not describe${whatIsMissing}`,
          });
          continue;
        }
        links.push({ use, target });
        use.write(`.${target.name}`);
        if (target.file !== file) imports.add(target.file.name);
      }
    }
    file.dependency = [...imports];
  }
  return links;
}

/**
 * The files, each after those that it imports, and its imports reduced to those. Of files that import each other, the
 * file that comes first loses its imports of the later files.
 */
export function inOrder(files: readonly FileDescriptorProto[]): FileDescriptorProto[] {
  const byName = new Map(files.map((file) => [file.name, file]));
  const ordered = new Map<string, FileDescriptorProto>();
  const entered = new Set<FileDescriptorProto>();
  const add = (file: FileDescriptorProto | undefined): void => {
    if (file === undefined || entered.has(file)) return;
    entered.add(file);
    for (const name of file.dependency) add(byName.get(name));
    keepImports(file, (name) => ordered.has(name));
    ordered.set(file.name, file);
  };
  files.forEach(add);
  return [...ordered.values()];
}

/** Public and weak imports are indexes into the list of imports, so they are updated. */
function keepImports(file: FileDescriptorProto, isKept: (name: string) => boolean): void {
  const { dependency } = file;
  const kept = dependency.filter(isKept);
  const newPlaces = (places: readonly number[]): number[] =>
    places.map((place) => kept.indexOf(String(dependency[place]))).filter((place) => place >= 0);
  file.publicDependency = newPlaces(file.publicDependency);
  file.weakDependency = newPlaces(file.weakDependency);
  file.dependency = kept;
}
