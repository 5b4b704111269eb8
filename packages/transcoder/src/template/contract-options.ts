import { getOption, hasOption, type DescField, type DescMethod } from '@bufbuild/protobuf';
import { http } from '../gen/google/api/annotations_pb.js';
import { field_behavior, type FieldBehavior } from '../gen/google/api/field_behavior_pb.js';
import type { HttpRule } from '../gen/google/api/http_pb.js';

/** The `google.api.http` annotation of a method; undefined for none. */
export function httpRuleOf(method: DescMethod): HttpRule | undefined {
  return hasOption(method, http) ? getOption(method, http) : undefined;
}

/** Whether a field carries the given `google.api.field_behavior` (AIP-203). */
export function hasBehavior(field: DescField, behavior: FieldBehavior): boolean {
  // Most fields have none, for which `getOption` is slow: it makes a message for each.
  return hasOption(field, field_behavior) && getOption(field, field_behavior).includes(behavior);
}
