import { allowedValue, kindOf, refusedValue } from '../fields/allowed-value.js';
import {
  isLongNumber,
  isObject,
  isTextFlaw,
  type LongNumber,
  type SentJson,
  type TextFlaw,
} from '../fields/json-value.js';
import { numberValue, type ValueType } from '../fields/text-value.js';
import type { Violations } from './violations.js';

/** A JSON value that stands for itself; what is inside it may not. */
export type PlainJson = Exclude<SentJson, LongNumber | TextFlaw>;

/** The type of a value that belongs to no field. */
export const ANYTHING: ValueType = {};

/** The JSON value that was sent for a type, with all its digits; undefined if its text is wrong. */
export function plainValue(type: ValueType, json: SentJson): PlainJson | undefined {
  if (isLongNumber(json)) return numberValue(type, json.text);
  return isTextFlaw(json) ? undefined : json;
}

/** Adds that a type does not take a value. */
export function refuse(found: Violations, type: ValueType, json: SentJson): void {
  found.add(() =>
    isTextFlaw(json) ? json.description : `Must be ${allowedValue(type)}; got ${refusedValue(type, json)}.`,
  );
}

/** Adds that a value is of another kind. @param allowed the kind that it must be, with its article */
export function refuseKind(found: Violations, allowed: string, json: SentJson): void {
  found.add(() => (isTextFlaw(json) ? json.description : `Must be ${allowed}; got ${kindOf(json)}.`));
}

/** Adds what is wrong in the text of a value that belongs to no field. */
export function refuseFlaws(json: SentJson, found: Violations): void {
  if (Array.isArray(json) || isObject(json)) {
    const kind = Array.isArray(json) ? 'item' : 'key';
    for (const [step, value] of Object.entries(json)) {
      if (found.isFull) return;
      found.enter(kind, step);
      refuseFlaws(value, found);
      found.leave();
    }
  } else if (plainValue(ANYTHING, json) === undefined) {
    refuse(found, ANYTHING, json);
  }
}
