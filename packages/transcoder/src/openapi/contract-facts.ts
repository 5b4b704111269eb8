import type { DescField, Registry } from '@bufbuild/protobuf';
import { fieldsByName } from '../fields/message-fields.js';
import type { DescriptionOptions, FieldFacts } from './description-options.js';

/** Facts about the field of a contract; empty if none are given. */
export type ContractFacts = (field: DescField) => FieldFacts;

/** @throws Error with a one-sentence message if the contract has no such message or field. */
export function contractFacts(registry: Registry, given: DescriptionOptions['facts'] = {}): ContractFacts {
  const all = new Map<DescField, FieldFacts>();
  for (const [typeName, facts] of Object.entries(given)) {
    const message = registry.getMessage(typeName);
    if (message === undefined) throw new Error(`facts: the contract has no message "${typeName}".`);
    for (const [name, each] of Object.entries(facts)) {
      const field = fieldsByName(message).get(name);
      if (field === undefined) throw new Error(`facts: the message "${typeName}" has no field "${name}".`);
      all.set(field, each);
    }
  }
  return (field) => all.get(field) ?? {};
}
