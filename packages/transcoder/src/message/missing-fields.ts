import type { DescField } from '@bufbuild/protobuf';
import type { ReflectMessage } from '@bufbuild/protobuf/reflect';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import type { FieldViolation } from '../failures/failure.js';
import { shortened } from '../fields/message-fields.js';

/** The required fields (proto2) that a message or a message inside it lacks: without them, it cannot be serialized. */
export function* missingFields(message: ReflectMessage, path = ''): Generator<FieldViolation> {
  for (const field of message.fields) {
    const place = path + field.name;
    if (message.isSet(field)) {
      for (const [at, inner] of messagesIn(message, field)) yield* missingFields(inner, `${place}${at}.`);
    } else if (field.presence === FeatureSet_FieldPresence.LEGACY_REQUIRED) {
      yield { field: place, description: 'Must be given; got none.' };
    }
  }
}

/** The messages in a field, each with its index or key. */
function* messagesIn(
  holder: ReflectMessage,
  field: DescField,
): Generator<[at: string, message: ReflectMessage]> {
  if (field.fieldKind === 'message') {
    yield ['', holder.get(field)];
  } else if (field.fieldKind === 'list' && field.listKind === 'message') {
    for (const [index, item] of holder.get(field).entries()) yield [`[${index}]`, item as ReflectMessage];
  } else if (field.fieldKind === 'map' && field.mapKind === 'message') {
    for (const [key, value] of holder.get(field))
      yield [`[${shortened(String(key))}]`, value as ReflectMessage];
  }
}
