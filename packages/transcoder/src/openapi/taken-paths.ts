import type { Binding } from '../template/binding.js';
import type { FieldPath } from './query-fields.js';

/**
 * The paths, in proto names, of the fields that a request cannot give in its query or body: those in its path, and those in a
 * oneof of which the path, or the body if it is one field, has another field.
 */
export function takenPaths({ variables, body }: Binding): string[][] {
  const inPath: FieldPath[] = variables.map(({ parents, field }) => [...parents, field]);
  const inBody: FieldPath[] = typeof body === 'object' ? [[body]] : [];
  const excluded = [...inPath, ...inBody].flatMap(pathsInSameOneofs);
  return [...inPath, ...excluded].map((path) => path.map(({ name }) => name));
}

/** The paths of the other fields in the oneofs of a field, and of the messages on its path. */
function pathsInSameOneofs(path: FieldPath): FieldPath[] {
  return path.flatMap((step, depth) => {
    const parents = path.slice(0, depth);
    const others = (step.oneof?.fields ?? []).filter((field) => field !== step);
    return others.map((field) => [...parents, field]);
  });
}
