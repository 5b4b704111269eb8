import type { DescField, DescMessage, DescOneof, JsonValue, Registry } from '@bufbuild/protobuf';
import { hasCustomJsonRepresentation } from '@bufbuild/protobuf/wkt';
import {
  allowedMessage,
  allowedScalar,
  allowedValue,
  kindOf,
  quoted,
  refusedValue,
} from '../fields/allowed-value.js';
import { contentOfAny, isAny } from '../fields/any-content.js';
import type { FieldViolation } from '../failures/failure.js';
import { isObject } from '../fields/text-value.js';
import { fieldsByName, shortened, takesNull } from '../fields/message-fields.js';
import type { ReadingOptions } from './json-options.js';
import { StrictJson } from './json-input.js';

type MapField = Extract<DescField, { fieldKind: 'map' }>;

/**
 * Finds every place where a JSON value is not the ProtoJSON form of a message, after `StrictJson` has refused the whole
 * value without naming a place. `StrictJson` checks each part again, so both always agree.
 */
export class JsonViolations {
  readonly #registry: Registry;
  readonly #ignoresUnknown: boolean;
  readonly #strict: StrictJson;

  constructor(registry: Registry, options: ReadingOptions = {}) {
    this.#registry = registry;
    this.#ignoresUnknown = options.ignoreUnknown === true;
    this.#strict = new StrictJson(registry, options);
  }

  /** The violations in a refused value, at the given field path; none if each part alone is valid. */
  *find(message: DescMessage, json: JsonValue, path = ''): Generator<FieldViolation> {
    const content = isAny(message) && isObject(json) ? contentOfAny(this.#registry, json) : undefined;
    if (content?.json !== undefined) {
      const inside = hasCustomJsonRepresentation(content.message) ? memberPath(path, 'value') : path;
      yield* this.find(content.message, content.json, inside);
      return;
    }
    if (hasCustomJsonRepresentation(message) || !isObject(json)) {
      yield violation(path, allowedMessage(message), refusedValue({ message }, json));
      return;
    }
    const seen = new Map<DescField | DescOneof, string>();
    for (const [key, value] of Object.entries(json)) {
      const field = fieldsByName(message).get(key);
      const place = memberPath(path, field?.name ?? shortened(key));
      if (field === undefined) {
        const description = `Must be a known field; got ${quoted(key)}.`;
        if (!this.#ignoresUnknown) yield { field: place, description };
        continue;
      }
      const oneof = value === null && !takesNull(field) ? undefined : field.oneof;
      const rival = seen.get(field) ?? (oneof && seen.get(oneof));
      seen.set(field, key);
      if (oneof !== undefined) seen.set(oneof, key);
      if (rival !== undefined) {
        yield { field: place, description: `Must be given without "${rival}"; got both.` };
      } else {
        yield* this.#inField(field, value, place);
      }
    }
  }

  *#inField(field: DescField, json: JsonValue, path: string): Generator<FieldViolation> {
    if (this.#strict.accepts(field.parent, { [field.jsonName]: json })) return;
    if (field.fieldKind === 'message') {
      yield* this.find(field.message, json, path);
    } else if (field.fieldKind === 'list') {
      if (!Array.isArray(json)) yield violation(path, 'an array', kindOf(json));
      else for (const [index, item] of json.entries()) yield* this.#inItem(field, item, `${path}[${index}]`);
    } else if (field.fieldKind === 'map') {
      if (!isObject(json)) yield violation(path, 'an object', kindOf(json));
      else for (const entry of Object.entries(json)) yield* this.#inEntry(field, entry, path);
    } else {
      yield violation(path, allowedValue(field), refusedValue(field, json));
    }
  }

  *#inItem(field: DescField, item: JsonValue, path: string): Generator<FieldViolation> {
    if (this.#strict.accepts(field.parent, { [field.jsonName]: [item] })) return;
    if (field.message !== undefined && item !== null) yield* this.find(field.message, item, path);
    else yield violation(path, allowedValue(field), refusedValue(field, item));
  }

  *#inEntry(field: MapField, [key, value]: [string, JsonValue], mapPath: string): Generator<FieldViolation> {
    if (this.#strict.accepts(field.parent, { [field.jsonName]: { [key]: value } })) return;
    const path = `${mapPath}[${shortened(key)}]`;
    if (field.message === undefined || value === null) {
      yield violation(path, allowedValue(field), refusedValue(field, value));
    } else if (!this.#strict.accepts(field.message, value)) {
      yield* this.find(field.message, value, path);
    } else {
      const description = `Must have ${allowedScalar(field.mapKey)} as its key; got ${quoted(key)}.`;
      yield { field: path, description };
    }
  }
}

function memberPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** The field path of a body that is the whole request message, as in google/api/http.proto. */
const WHOLE_BODY = '*';

function violation(field: string, allowed: string, got: string): FieldViolation {
  return { field: field || WHOLE_BODY, description: `Must be ${allowed}; got ${got}.` };
}
