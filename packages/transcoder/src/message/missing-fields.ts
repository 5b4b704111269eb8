import type { ReflectMessage } from '@bufbuild/protobuf/reflect';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import type { FieldViolation } from '../failures/failure.js';
import { messagesIn } from '../fields/message-fields.js';

/**
 * A violation for each required field (proto2) that a message or a message inside it lacks: without them, it cannot be
 * serialized.
 *
 * @param path what stands before the names of the message's fields. Default: nothing.
 */
export function* missingFields(message: ReflectMessage, path = ''): Generator<FieldViolation, void> {
  for (const field of message.fields) {
    const place = path + field.name;
    if (message.isSet(field)) {
      for (const [at, inner] of messagesIn(message, field)) yield* missingFields(inner, `${place}${at}.`);
    } else if (field.presence === FeatureSet_FieldPresence.LEGACY_REQUIRED) {
      yield { field: place, description: 'Must be given; got none.' };
    }
  }
}
