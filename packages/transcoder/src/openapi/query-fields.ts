import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { hasCustomJsonRepresentation } from '@bufbuild/protobuf/wkt';
import { hasTextForm } from '../fields/text-value.js';
import { FieldBehavior } from '../gen/google/api/field_behavior_pb.js';
import type { Binding } from '../template/binding.js';
import { hasBehavior } from '../template/contract-options.js';

/** The path of a field from the request message on. */
type FieldPath = readonly DescField[];

/** The fields that a query may carry. */
interface QueryFields {
  readonly paths: readonly FieldPath[];
  /** Whether there are more, in messages that are nested more deeply. */
  readonly isCut: boolean;
  /** The number of steps that were taken to find them. */
  readonly steps: number;
}

/**
 * The most fields that are described for one operation, beyond those of the request message itself: messages that
 * contain each other have so many paths that their number is the factorial of the number of messages.
 */
const MAX_FIELDS = 500;
/** The most steps on the way to them: each field takes as many as its path has fields. */
const MAX_STEPS = 10_000;

/**
 * The paths, in proto names, of the fields that a request cannot give in its query or body: those in its path, and those in a
 * oneof of which the path, or the body if it is one field, has another field.
 */
export function takenPaths({ variables, body }: Binding): string[][] {
  const bound: FieldPath[] = variables.map(({ parents, field }) => [...parents, field]);
  const carried: FieldPath[] = typeof body === 'object' ? [...bound, [body]] : bound;
  const rivals = carried.flatMap((path) =>
    path.flatMap((step, depth) =>
      (step.oneof?.fields ?? [])
        .filter((field) => field !== step)
        .map((field) => [...path.slice(0, depth), field]),
    ),
  );
  return [...bound, ...rivals].map((path) => path.map(({ name }) => name));
}

/**
 * The fields that a query may carry: those with a text form, of the request message and of messages in it, as deep as
 * there are at most `MAX_FIELDS`. A message that contains itself is entered once. Fields that only the server sets
 * (AIP-203) are left out.
 *
 * @param isOffered whether a field, or any field in it, can be given.
 * @param maxSteps the most steps for fields beyond those of the request message itself. Default and maximum:
 *   `MAX_STEPS`.
 */
export function queryFields(
  message: DescMessage,
  isOffered: (path: FieldPath) => boolean,
  maxSteps = MAX_STEPS,
): QueryFields {
  const most = Math.min(maxSteps, MAX_STEPS);
  const top = placesIn(message, [], isOffered);
  let count = top.filter(isText).length;
  let steps = 0;
  for (let level = top.filter(isEntered); level.length > 0;) {
    const inside = new Map<Place, readonly Place[]>();
    for (const outer of level) {
      const { message: type } = outer.field;
      steps += type.fields.length * (outer.path.length + 1);
      const found = steps > most ? [] : placesIn(type, outer.path, isOffered);
      count += found.filter(isText).length;
      if (steps > most || count > MAX_FIELDS) return { paths: pathsOf(top), isCut: true, steps };
      inside.set(outer, found);
    }
    for (const [outer, found] of inside) outer.inside = found;
    level = [...inside.values()].flat().filter(isEntered);
  }
  return { paths: pathsOf(top), isCut: false, steps };
}

/** A field in the request, and the places in it that are described. */
interface Place {
  readonly field: DescField;
  readonly path: FieldPath;
  inside: readonly Place[];
}

function placesIn(
  message: DescMessage,
  parents: FieldPath,
  isOffered: (path: FieldPath) => boolean,
): Place[] {
  return message.fields
    .filter((field) => !hasBehavior(field, FieldBehavior.OUTPUT_ONLY))
    .map((field) => ({ field, path: [...parents, field], inside: [] }))
    .filter(({ path }) => isOffered(path));
}

/** The paths of fields with a text form, in the order of the fields. */
function pathsOf(places: readonly Place[]): FieldPath[] {
  return places.flatMap((place) => (isText(place) ? [place.path] : pathsOf(place.inside)));
}

function isText({ field }: Place): boolean {
  return hasTextForm(field);
}

/** Whether the fields of a place can be given, too: it is a message that it is not in itself. */
function isEntered(place: Place): place is Place & { readonly field: DescField & { fieldKind: 'message' } } {
  const { field, path } = place;
  return (
    field.fieldKind === 'message' &&
    !hasCustomJsonRepresentation(field.message) &&
    path.every(({ parent }) => parent !== field.message)
  );
}
