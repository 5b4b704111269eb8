import {
  getOption,
  hasOption,
  toBinary,
  type DescExtension,
  type DescField,
  type DescMethod,
  type Message,
  type Registry,
} from '@bufbuild/protobuf';
import type { FieldBehavior } from '../../../../src/gen/google/api/field_behavior.js';
import { HttpRule } from '../../../../src/gen/google/api/http.js';

/** The options of a contract that say how it is reached over REST. */
export interface ContractOptions {
  /** The `google.api.http` annotation of a method; undefined for none. */
  httpRule(method: DescMethod): HttpRule | undefined;
  /** Whether a field carries the given `google.api.field_behavior` (AIP-203). */
  hasBehavior(field: DescField, behavior: FieldBehavior): boolean;
}

/**
 * Reads the options by means of the extensions in the registry. A contract that uses no
 * `google.api.field_behavior` need not bring it.
 *
 * @throws Error where the registry lacks `google.api.http`.
 */
export function contractOptions(registry: Registry): ContractOptions {
  const http = registry.getExtension('google.api.http');
  const fieldBehavior = registry.getExtension('google.api.field_behavior');
  if (http?.message === undefined) {
    throw new Error('The descriptor set does not hold google/api/annotations.proto.');
  }
  const { message: ruleSchema } = http;
  return {
    httpRule(method) {
      if (!hasOption(method, http)) return undefined;
      return HttpRule.decode(toBinary(ruleSchema, getOption(method, http) as Message));
    },
    hasBehavior(field, behavior) {
      return behaviors(field, fieldBehavior).includes(behavior);
    },
  };
}

function behaviors(field: DescField, extension: DescExtension | undefined): readonly FieldBehavior[] {
  return extension === undefined ? [] : (getOption(field, extension) as FieldBehavior[]);
}
