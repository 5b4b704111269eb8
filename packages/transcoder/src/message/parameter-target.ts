import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { hasCustomJsonRepresentation } from '@bufbuild/protobuf/wkt';
import { fieldsByName } from '../fields/message-fields.js';
import { hasTextForm, hasTextValue } from '../fields/text-value.js';
import { MAX_DEPTH } from '../json/json-parser.js';
import type { FieldTarget } from '../template/binding.js';

/** A field that a query may set, or an entry of a map. */
export interface ParameterTarget extends FieldTarget {
  /** The key of the entry; undefined if the field is not a map. */
  readonly key?: string | undefined;
}

/**
 * What the parameter with a name sets; undefined if no field takes values from a query under this name.
 *
 * @param name with at most `MAX_DEPTH` levels (`levelsOf`).
 * @param lenient whether `labels[key]` is the name of an entry of a map.
 */
export function parameterTarget(
  message: DescMessage,
  name: string,
  lenient: boolean,
): ParameterTarget | undefined {
  const { path, key } = pathAndKey(name, lenient);
  const target = fieldTarget(message, path);
  if (target === undefined) return undefined;
  const { field } = target;
  if (key === undefined) return hasTextForm(field) ? target : undefined;
  return field.fieldKind === 'map' && hasTextValue(field) ? { ...target, key } : undefined;
}

/**
 * Whether a name leads to no field, so that its parameter may be ignored. Other names that have no target are mistakes to
 * be reported:
 *
 * - `labels`, a map, takes no value from a query, and `labels.a` goes on below it.
 * - `time.seconds` is a field of a message whose JSON form does not have it.
 * - A name that is too deep is not looked up.
 */
export function isUnknownParameter(message: DescMessage, name: string, lenient: boolean): boolean {
  const isTooDeep = levelsOf(name, lenient) > MAX_DEPTH;
  return !isTooDeep && !touchesField(message, pathAndKey(name, lenient).path);
}

/** The number of names in the path of a parameter. */
export function levelsOf(name: string, lenient: boolean): number {
  return pathAndKey(name, lenient).path.split('.').length;
}

/** The path of a field and, in the syntax of grpc-gateway, a key of a map: `labels[key]`. */
function pathAndKey(name: string, lenient: boolean): { readonly path: string; readonly key?: string } {
  const bracket = lenient && name.endsWith(']') ? name.lastIndexOf('[') : -1;
  return bracket < 0 ? { path: name } : { path: name.slice(0, bracket), key: name.slice(bracket + 1, -1) };
}

/** The field with a path of names; a name may have dots itself (`json_name`). */
function fieldTarget(
  message: DescMessage,
  path: string,
  parents: readonly DescField[] = [],
): FieldTarget | undefined {
  const fields = fieldsByName(message);
  const field = fields.get(path);
  if (field !== undefined) return { parents, field };

  for (const [name, rest] of stepsInto(path)) {
    const parent = fields.get(name);
    if (!hasFieldsInJson(parent)) continue;
    const found = fieldTarget(parent.message, rest, [...parents, parent]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether a field is a message whose JSON form is an object of its fields. */
function hasFieldsInJson(
  field: DescField | undefined,
): field is DescField & { readonly fieldKind: 'message' } {
  return field?.fieldKind === 'message' && !hasCustomJsonRepresentation(field.message);
}

/**
 * Whether a path is that of a field, in JSON or not, or goes on below a field that is not a single message. The path of
 * an unknown field of a message, as `book.nothing`, does neither.
 */
function touchesField(message: DescMessage, path: string): boolean {
  const fields = fieldsByName(message);
  if (fields.has(path)) return true;

  for (const [name, rest] of stepsInto(path)) {
    const parent = fields.get(name);
    if (parent === undefined) continue;
    const isNoSingleMessage = parent.fieldKind !== 'message';
    if (isNoSingleMessage || touchesField(parent.message, rest)) return true;
  }
  return false;
}

/** The ways to read a path as a name and what follows its dot, the shortest name first. */
function* stepsInto(path: string): Generator<[name: string, rest: string]> {
  for (let dot = path.indexOf('.'); dot >= 0; dot = path.indexOf('.', dot + 1))
    yield [path.slice(0, dot), path.slice(dot + 1)];
}
