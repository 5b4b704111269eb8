import { getOption, hasOption, type DescField } from '@bufbuild/protobuf';
import { field_behavior, type FieldBehavior } from '../gen/google/api/field_behavior_pb.js';

/** Whether a field carries the given `google.api.field_behavior` (AIP-203). */
export function hasBehavior(field: DescField, behavior: FieldBehavior): boolean {
  // Most fields have none, for which `getOption` is slow: it makes a message for each.
  return hasOption(field, field_behavior) && getOption(field, field_behavior).includes(behavior);
}
