import type { DescField, DescMessage } from '@bufbuild/protobuf';

const fieldsOfMessages = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

/** The fields of a message by both their names, the proto name and the JSON name, as ProtoJSON has it. */
export function fieldsByName(message: DescMessage): ReadonlyMap<string, DescField> {
  let fields = fieldsOfMessages.get(message);
  if (fields === undefined) {
    fields = new Map(
      message.fields.flatMap((field) => [
        [field.jsonName, field],
        [field.name, field],
      ]),
    );
    fieldsOfMessages.set(message, fields);
  }
  return fields;
}

/** A step into a JSON value: the key of an object or the index of an array. */
export type JsonStep = string | number;

/** A place in the JSON form of a message. */
export interface Place {
  /**
   * The field path in proto names: `['book', 'tagNames', 2]` is `book.tag_names[2]`. Keys of maps stand
   * in brackets; keys that are no field stand as they came.
   */
  readonly path: string;
  /** The field that the place belongs to; undefined where it is in none. */
  readonly field: DescField | undefined;
}

/** Finds the place that steps into the JSON form of a message lead to. */
export function placeOf(message: DescMessage, steps: readonly JsonStep[]): Place {
  let path = '';
  let container: DescMessage | undefined = message;
  let field: DescField | undefined;
  let inMap = false;
  for (const step of steps) {
    if (typeof step === 'number' || inMap) {
      path += `[${shortened(String(step))}]`;
      inMap = false;
      continue;
    }
    field = container && fieldsByName(container).get(step);
    path += (path && '.') + (field?.name ?? shortened(step));
    container = field?.message;
    inMap = field?.fieldKind === 'map';
  }
  return { path, field };
}

const LONGEST_ECHO = 64;
const LONE_SURROGATE = /\p{Surrogate}/gu;

/** A name that a caller sent, cut to what an answer may repeat. */
export function shortened(name: string): string {
  const characters = Array.from(name);
  const cut = characters.length > LONGEST_ECHO ? `${characters.slice(0, LONGEST_ECHO).join('')}…` : name;
  return cut.replace(LONE_SURROGATE, '\uFFFD');
}
