import type { DescMethod, DescService } from '@bufbuild/protobuf';
import type { Binding } from '../template/binding.js';
import type { SuccessRule } from '../template/success-rules.js';
import { ANY_VERB } from '../template/binding-table.js';
import type { ContractComments } from './contract-comments.js';
import { DescribedPaths } from './described-paths.js';
import { Names } from './names.js';
import { type Operation, type PathItem, type Tag, type Verb, VERBS } from './open-api.js';
import type { Operations } from './operations.js';

/**
 * The paths of bindings, each with the operations on it, without what OpenAPI 3.1 has no place for: other HTTP methods
 * than its own, and a second template with the same OpenAPI path.
 */
export class Paths {
  readonly #operations: Operations;
  readonly #places = new DescribedPaths();
  readonly #items = new Map<string, Partial<Record<Verb, Operation>>>();
  readonly #tags = new Names();
  readonly #services = new Set<DescService>();
  readonly #methodIds = new Names();
  readonly #operationIds = new Names();
  /** Method names that occur in several services. */
  readonly #ambiguous: ReadonlySet<string>;

  /** @param rules the rules for successes of standard methods; empty for plain 200s */
  constructor(
    operations: Operations,
    bindings: readonly Binding[],
    rules: ReadonlyMap<Binding, SuccessRule>,
  ) {
    this.#operations = operations;
    this.#ambiguous = repeatedNames(new Set(bindings.map(({ method }) => method)));
    // Bindings for any HTTP method come last, since they stand for the methods that are left.
    const inOrder = [
      ...bindings.filter(({ verb }) => verb !== '*'),
      ...bindings.filter(({ verb }) => verb === '*'),
    ];
    for (const binding of inOrder) this.#add(binding, rules.get(binding));
  }

  items(): Record<string, PathItem> {
    return Object.fromEntries(this.#items);
  }

  /** A tag for each service. */
  tags(comments: ContractComments): Tag[] {
    return [...this.#services].map((service) => {
      const summary = comments.summary(service);
      return {
        name: this.#tagOf(service),
        description: `${summary === '' ? `The methods of ${service.typeName}` : summary}.`,
      };
    });
  }

  #add(binding: Binding, rule: SuccessRule | undefined): void {
    const path = this.#places.of(binding);
    const item = this.#items.get(path.path) ?? {};
    const { method } = binding;
    this.#services.add(method.parent);
    const tag = this.#tagOf(method.parent);
    for (const verb of binding.verb === '*' ? ANY_VERB : [binding.verb]) {
      const key = VERBS.find((name) => name.toUpperCase() === verb);
      if (key === undefined || item[key] !== undefined) continue;
      // GET implies HEAD.
      if (binding.verb === '*' && key === 'head') continue;
      const operationId = this.#operationIds.of({ binding, verb }, this.#idOf(method));
      item[key] = this.#operations.of({ binding, verb, rule, path, operationId, tag });
      this.#items.set(path.path, item);
    }
  }

  #tagOf(service: DescService): string {
    return this.#tags.of(service, service.name, service.typeName);
  }

  #idOf(method: DescMethod): string {
    const { localName, parent } = method;
    if (!this.#ambiguous.has(localName)) return this.#methodIds.of(method, localName);
    const fullName = parent.typeName.replaceAll('.', '_');
    return this.#methodIds.of(method, `${parent.name}_${localName}`, `${fullName}_${localName}`);
  }
}

function repeatedNames(methods: ReadonlySet<DescMethod>): Set<string> {
  const seen = new Set<string>();
  return new Set(
    [...methods].map(({ localName }) => localName).filter((name) => seen.size === seen.add(name).size),
  );
}
