import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

/** An import or a re-export of a source file. */
export interface Import {
  /** The importing file, by its absolute path. */
  readonly from: string;
  /** The imported file by its absolute path, or the specifier of a package or of a module of Node. */
  readonly to: string;
  readonly typeOnly: boolean;
}

/** All TypeScript files below a folder, by their absolute paths. */
export function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name));
}

/** A statement that imports or re-exports, as the formatter and the generators write it. */
const STATEMENT = /^(?:import (type )?|export )(?:[^;'"]* from )?['"]([^'"]+)['"];$/gm;

/** The imports of a file. */
export function importsOf(file: string): Import[] {
  return [...readFileSync(file, 'utf8').matchAll(STATEMENT)].map(([, type, name = '']) => ({
    from: file,
    to: name.startsWith('.') ? resolve(dirname(file), name.replace(/\.js$/, '.ts')) : name,
    typeOnly: type !== undefined,
  }));
}

/** Whether a file of this repository is imported. */
export function isOurs({ to }: Import): boolean {
  return to.startsWith('/');
}

/** The package of an import; undefined for a file of this repository and for a module of Node. */
export function packageOf({ to }: Import): string | undefined {
  if (to.startsWith('/') || to.startsWith('node:')) return undefined;
  return to.split('/', to.startsWith('@') ? 2 : 1).join('/');
}

/** An import in readable form, its files relative to a folder. */
export function shown({ from, to }: Import, folder: string): string {
  return `${relative(folder, from)} → ${to.startsWith('/') ? relative(folder, to) : to}`;
}

/** The cycles of imports between files, one line each. */
export function cyclesAmong(imports: readonly Import[], folder: string): string[] {
  const graph = new Map<string, string[]>();
  for (const { from, to } of imports.filter(isOurs)) graph.set(from, [...(graph.get(from) ?? []), to]);
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      const circle = [...path.slice(path.indexOf(file)), file];
      cycles.push(circle.map((member) => relative(folder, member)).join(' → '));
    } else if (!done.has(file)) for (const next of graph.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return cycles;
}
