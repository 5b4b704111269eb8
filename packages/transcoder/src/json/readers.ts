import { type DescField, type DescMessage, fromJson, ScalarType } from '@bufbuild/protobuf';
import { reflect, type ReflectMessage } from '@bufbuild/protobuf/reflect';
import { allowedScalar, quote } from '../fields/allowed-value.js';
import { isObject, type SentJson } from '../fields/json-value.js';
import { scalarValue } from '../fields/scalar-value.js';
import { booleans, type TextForm } from '../fields/text-form.js';
import type { ValueType } from '../fields/text-value.js';
import { type PlainJson, plainValue, refuse, refuseKind } from './sent-value.js';
import type { Filling } from './struct-json.js';
import type { Violations } from './violations.js';

/**
 * Converts a JSON value of one type to the value that reflection takes. What is wrong inside the value is added to
 * `violations`. A value that is wrong as a whole is refused by `readValue`, to which the reader says so in one of three ways:
 *
 * - It returns undefined.
 * - It throws. It must have left each part of the value that it entered.
 * - It returns a value that reflection refuses.
 *
 * @param json neither a long number nor flawed text, which `plainValue` has converted or refused; what is inside may be such.
 */
export type Reader = (json: PlainJson, violations: Violations) => unknown;

/** Reads a JSON value into a field of a message, and adds what is wrong to `violations`. Never throws. */
export type FieldReader = (target: ReflectMessage, json: SentJson, violations: Violations) => void;

/** What a reader returns for an unknown name of an enum value, where such names are ignored. */
export const IGNORED = Symbol('ignored');

type ListField = Extract<DescField, { fieldKind: 'list' }>;
type MapField = Extract<DescField, { fieldKind: 'map' }>;

/**
 * Reads one value: a field that is not repeated, an item of a list, a value of a map, or a whole message. This is the only
 * place where a value is refused as a whole.
 *
 * @param put stores what was read, unless the value is refused or ignored; throws if reflection does not take it.
 */
export function readValue(
  type: ValueType,
  reader: Reader,
  json: SentJson,
  violations: Violations,
  put: (value: unknown) => void,
): void {
  const plain = plainValue(type, json);
  try {
    const value = plain === undefined ? undefined : reader(plain, violations);
    if (value === undefined) refuse(violations, type, json);
    else if (value !== IGNORED) put(value);
  } catch {
    // Reflection, `fromJson` and `toBinary` throw for a value that does not fit its type. A mistake in a reader would look
    // the same, so the tests of each type also have values that fit.
    refuse(violations, type, json);
  }
}

export function listReader(field: ListField, itemReader: Reader): FieldReader {
  return (target, json, violations) => {
    if (!Array.isArray(json)) {
      refuseKind(violations, 'an array', json);
      return;
    }
    const list = target.get(field);
    const put = (value: unknown): void => {
      list.add(value);
    };
    for (let index = 0; index < json.length && !violations.isFull; index += 1) {
      violations.enter('item', index);
      readValue(field, itemReader, json[index] as SentJson, violations, put);
      violations.leave();
    }
  };
}

export function mapReader(field: MapField, valueReader: Reader): FieldReader {
  return (target, json, violations) => {
    if (!isObject(json)) {
      refuseKind(violations, 'an object', json);
      return;
    }
    const map = target.get(field);
    for (const key of Object.keys(json)) {
      if (violations.isFull) return;
      violations.enter('item', key);
      readValue(field, valueReader, json[key] as SentJson, violations, (value) => {
        // Only here, after the value: if that is refused or ignored, its key is not looked at, so that an entry has one
        // violation at most.
        const mapKey = mapKeyOf(field.mapKey, key);
        if (mapKey === undefined) refuseKey(violations, field, key);
        else map.set(mapKey, value);
      });
      violations.leave();
    }
  };
}

function refuseKey(violations: Violations, { mapKey }: MapField, key: string): void {
  violations.add(() => `Must have ${allowedScalar(mapKey)} as its key; got ${quote(key)}.`);
}

// Each number has only one form, so that no two keys are equal.
const INTEGER_KEY = /^(?:0|-?[1-9][0-9]*)$/;

/** The key of a map, as reflection takes it; undefined if it is not of the type. */
function mapKeyOf(type: MapField['mapKey'], key: string): unknown {
  if (type === ScalarType.STRING) return key;
  if (type === ScalarType.BOOL) return booleans.get(key);
  return INTEGER_KEY.test(key) ? scalarValue(type, key) : undefined;
}

/** The reader of a wrapper such as `google.protobuf.StringValue`. */
export function wrapperReader(message: DescMessage): Reader {
  const [value] = message.fields as [DescField & { readonly scalar: ScalarType }];
  return (json) => {
    const scalar = scalarValue(value.scalar, json);
    if (scalar === undefined) return undefined;
    const target = reflect(message);
    target.set(value, scalar);
    return target;
  };
}

/** The reader of a message of google/protobuf/struct.proto. */
export function structReader(message: DescMessage, fill: Filling): Reader {
  return (json, violations) => {
    const target = reflect(message);
    return fill(target.message, json, violations) ? target : undefined;
  };
}

/** The reader of a message whose JSON form is a string. */
export function textReader(message: DescMessage, textForm: TextForm): Reader {
  return (json) => {
    const text = typeof json === 'string' ? textForm(json) : undefined;
    return text === undefined ? undefined : reflect(message, fromJson(message, text));
  };
}
