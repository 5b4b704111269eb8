import type { DescField, Registry } from '@bufbuild/protobuf';
import { fieldsByName } from '../fields/message-fields.js';
import type { DescriptionOptions, FieldFacts } from './description-options.js';

/** Facts about the field of a contract; empty if there are none. */
export type ContractFacts = (field: DescField) => FieldFacts;

/** @throws Error with a one-sentence message if the contract has no such message or field. */
export function contractFacts(
  registry: Registry,
  factsByMessage: DescriptionOptions['facts'] = {},
): ContractFacts {
  const all = new Map<DescField, FieldFacts>();
  for (const [typeName, factsByField] of Object.entries(factsByMessage)) {
    const message = registry.getMessage(typeName);
    if (message === undefined) throw new Error(`facts: the contract has no message "${typeName}".`);
    for (const [name, facts] of Object.entries(factsByField)) {
      const field = fieldsByName(message).get(name);
      if (field === undefined) throw new Error(`facts: the message "${typeName}" has no field "${name}".`);
      all.set(field, facts);
    }
  }
  return (field) => all.get(field) ?? {};
}
