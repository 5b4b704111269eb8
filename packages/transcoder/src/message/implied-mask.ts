import { create, type DescField, type DescMessage, type Message } from '@bufbuild/protobuf';
import { reflect } from '@bufbuild/protobuf/reflect';
import { type FieldMask, FieldMaskSchema, hasCustomJsonRepresentation } from '@bufbuild/protobuf/wkt';
import { isObject, type SentJson, type SentObject } from '../fields/json-value.js';
import { fieldsByName } from '../fields/message-fields.js';
import type { Binding } from '../template/binding.js';

type MaskField = Extract<DescField, { fieldKind: 'message' }>;

/** The mask that grpc-gateway gives to a PATCH without a mask: the fields of its body. */
interface ImpliedMask {
  readonly field: MaskField;
  /** In proto names, sorted. */
  readonly paths: readonly string[];
}

/**
 * The mask that the body of a PATCH implies. Undefined unless the body is a message field and exactly one field of the
 * request is a mask.
 *
 * @param json the body, as it was sent.
 */
export function impliedMask(
  { method, verb, body }: Binding,
  json: SentJson | undefined,
): ImpliedMask | undefined {
  if (verb !== 'PATCH' || typeof body !== 'object' || body.fieldKind !== 'message') return undefined;
  const [field, ...others] = method.input.fields.filter(isMask);
  if (field === undefined || others.length > 0 || !isObject(json)) return undefined;
  return { field, paths: [...pathsIn(body.message, json)].sort() };
}

/** Sets the mask that the body implies in a request message, unless the message has a mask that names a field. */
export function setImpliedMask(request: Message, { field, paths }: ImpliedMask): void {
  const holder = reflect(field.parent, request);
  if (holder.isSet(field) && (holder.get(field).message as FieldMask).paths.length > 0) return;
  holder.set(field, reflect(FieldMaskSchema, create(FieldMaskSchema, { paths: [...paths] })));
}

function isMask(field: DescField): field is MaskField {
  return field.fieldKind === 'message' && field.message.typeName === 'google.protobuf.FieldMask';
}

/**
 * The paths of the fields in the JSON form of a message. A field with a non-empty message is replaced by the paths
 * inside it.
 */
function* pathsIn(message: DescMessage, json: SentObject, prefix = ''): Generator<string> {
  for (const [key, value] of Object.entries(json)) {
    const field = fieldsByName(message).get(key);
    if (field === undefined) continue;
    const path = prefix + field.name;
    const leads = field.fieldKind === 'message' && !hasCustomJsonRepresentation(field.message);
    if (leads && isObject(value) && Object.keys(value).length > 0)
      yield* pathsIn(field.message, value, `${path}.`);
    else yield path;
  }
}
