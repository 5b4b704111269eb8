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
}

/**
 * The most fields that are described for one operation, beyond those of the request message itself: messages that
 * contain each other have so many paths that their number is the factorial of the number of messages.
 */
const MAX_FIELDS = 500;
/** The most fields that are looked at on the way to them. */
const MAX_STEPS = 10_000;

/**
 * The paths of the fields that a request has neither in its path nor in its body, nor can have: of a oneof, only one
 * field may be set. In proto names.
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
 */
export function queryFields(message: DescMessage, isOffered: (path: FieldPath) => boolean): QueryFields {
  let walk = new Walk(isOffered, 1);
  walk.enter(message, []);
  while (walk.hasDeeper) {
    const further = new Walk(isOffered, walk.depth + 1);
    further.enter(message, []);
    if (further.isFull) return { paths: walk.paths, isCut: true };
    walk = further;
  }
  return { paths: walk.paths, isCut: false };
}

/** A walk through the fields of messages, down to a depth. */
class Walk {
  readonly depth: number;
  readonly paths: FieldPath[] = [];
  /** Whether there are messages that are nested more deeply. */
  hasDeeper = false;
  readonly #isOffered: (path: FieldPath) => boolean;
  #steps = 0;

  constructor(isOffered: (path: FieldPath) => boolean, depth: number) {
    this.#isOffered = isOffered;
    this.depth = depth;
  }

  get isFull(): boolean {
    return this.depth > 1 && (this.paths.length > MAX_FIELDS || this.#steps > MAX_STEPS);
  }

  enter(message: DescMessage, parents: FieldPath): void {
    for (const field of message.fields) {
      if (this.isFull) return;
      const path = [...parents, field];
      if (hasBehavior(field, FieldBehavior.OUTPUT_ONLY) || !this.#isOffered(path)) continue;
      this.#steps += 1;
      if (hasTextForm(field)) this.paths.push(path);
      else if (isEntered(field) && path.every(({ parent }) => parent !== field.message)) {
        if (path.length === this.depth) this.hasDeeper = true;
        else this.enter(field.message, path);
      }
    }
  }
}

function isEntered(field: DescField): field is DescField & { fieldKind: 'message' } {
  return field.fieldKind === 'message' && !hasCustomJsonRepresentation(field.message);
}
