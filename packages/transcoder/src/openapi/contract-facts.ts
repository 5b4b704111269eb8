import type { DescField, Registry } from '@bufbuild/protobuf';
import { fieldsByName } from '../fields/message-fields.js';
import type { DescriptionOptions, FieldFacts } from './description-options.js';

/** Facts about the fields of a contract. */
export class ContractFacts {
  readonly #facts = new Map<DescField, FieldFacts>();

  /** @throws Error with a one-sentence message if the contract has no such message or field. */
  constructor(registry: Registry, given: DescriptionOptions['facts'] = {}) {
    for (const [typeName, facts] of Object.entries(given)) {
      const message = registry.getMessage(typeName);
      if (message === undefined) throw new Error(`facts: the contract has no message "${typeName}".`);
      const fields = fieldsByName(message);
      for (const [name, each] of Object.entries(facts)) {
        const field = fields.get(name);
        if (field === undefined) throw new Error(`facts: the message "${typeName}" has no field "${name}".`);
        this.#facts.set(field, each);
      }
    }
  }

  of(field: DescField): FieldFacts {
    return this.#facts.get(field) ?? {};
  }
}
