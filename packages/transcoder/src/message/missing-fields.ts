import type { ReflectMessage } from '@bufbuild/protobuf/reflect';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import type { FieldViolation } from '../failures/failure.js';
import { messagesIn } from '../fields/message-fields.js';

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
