import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { hasCustomJsonRepresentation } from '@bufbuild/protobuf/wkt';
import { hasTextForm } from '../fields/text-value.js';
import { FieldBehavior } from '../gen/google/api/field_behavior_pb.js';
import { hasBehavior } from '../template/contract-options.js';

/** The path of a field from the request message on. */
export type FieldPath = readonly DescField[];

/** The fields that a query may carry. */
interface QueryFields {
  readonly paths: readonly FieldPath[];
  /** Whether there are more, in messages that are nested more deeply. */
  readonly isCut: boolean;
  /** The steps that were taken below the request message: for each field, as many as its path has fields. */
  readonly steps: number;
}

/** A field in the request, and the places in it that are described. */
interface Place {
  readonly field: DescField;
  readonly path: FieldPath;
  /** Filled in once the level below is known to keep within the limits. */
  inside: readonly Place[];
}

/**
 * The most fields that are described for one operation, except that those of the request message itself always are. Messages
 * that contain each other have so many paths that their number is the factorial of the number of messages.
 */
const MAX_FIELDS = 500;
/** The most steps that are taken for one operation. */
const MAX_STEPS = 10_000;

/**
 * The fields that a query may carry: those with a text form, of the request message and of messages in it, as many levels
 * deep as the limits allow. A message that contains itself is entered once. Fields that only the server sets (AIP-203) are
 * left out.
 *
 * @param isOffered whether a field, or any field in it, can be given.
 * @param stepsLeft the most steps that the whole document has left.
 */
export function queryFields(
  message: DescMessage,
  isOffered: (path: FieldPath) => boolean,
  stepsLeft: number,
): QueryFields {
  const maxSteps = Math.min(stepsLeft, MAX_STEPS);
  const top = placesIn(message, [], isOffered);
  let count = top.filter(isText).length;
  let steps = 0;
  let level = top.filter(isEntered);
  while (level.length > 0) {
    const foundIn = new Map<Place, readonly Place[]>();
    for (const outer of level) {
      const { message: type } = outer.field;
      // Each field in it gets a path of its own, which is longer by one.
      steps += type.fields.length * (outer.path.length + 1);
      if (steps > maxSteps) return { paths: pathsOf(top), isCut: true, steps };

      const found = placesIn(type, outer.path, isOffered);
      count += found.filter(isText).length;
      if (count > MAX_FIELDS) return { paths: pathsOf(top), isCut: true, steps };
      foundIn.set(outer, found);
    }

    // Only now: a level is described whole or not at all.
    for (const [outer, found] of foundIn) outer.inside = found;
    level = [...foundIn.values()].flat().filter(isEntered);
  }
  return { paths: pathsOf(top), isCut: false, steps };
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
