import type { DescField, DescOneof } from '@bufbuild/protobuf';

/** The names of the fields that a JSON object has given so far, to find two that must not be given together. */
export class NamesSoFar {
  /** The latest name for each field, and for each oneof of which a field is set. */
  readonly #names = new Map<DescField | DescOneof, string>();

  /**
   * Notes that the object gives a field, and returns the name that conflicts, if any: another name of the same field, or
   * that of another field of its oneof.
   *
   * @param name the name that the object has for the field.
   * @param isUnset whether its value only says that the field is unset: then it conflicts with no other field of its oneof.
   */
  noteAndFindRival(field: DescField, name: string, isUnset: boolean): string | undefined {
    const oneof = isUnset ? undefined : field.oneof;
    const rival = this.#names.get(field) ?? (oneof && this.#names.get(oneof));
    this.#names.set(field, name);
    if (oneof !== undefined) this.#names.set(oneof, name);
    return rival;
  }
}

/** Describes the violation of a field that is not allowed beside another. @param rival the name of the other, as sent */
export function rivalDescription(rival: string): string {
  return `Must be given without "${rival}"; got both.`;
}
