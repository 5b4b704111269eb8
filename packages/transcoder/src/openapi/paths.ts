import type { DescMethod, DescService } from '@bufbuild/protobuf';
import type { Binding, SuccessRule } from '../template/binding.js';
import { ANY_VERB } from '../template/binding-table.js';
import type { ContractComments } from './contract-comments.js';
import { DescribedPaths } from './described-paths.js';
import { Names } from './names.js';
import { type Operation, type PathItem, type Tag, type Verb, VERBS } from './open-api.js';
import type { Operations } from './operations.js';

/** A path under construction. */
interface Item {
  readonly byVerb: Partial<Record<Verb, Operation>>;
  /** The operations without a place in OpenAPI 3.1, by HTTP method and template. */
  readonly additional: Record<string, Operation>;
}

/** The paths of bindings, each with the operations on it. */
export class Paths {
  readonly #operations: Operations;
  readonly #places = new DescribedPaths();
  readonly #items = new Map<string, Item>();
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
    return Object.fromEntries(
      [...this.#items].map(([path, { byVerb, additional }]) => [
        path,
        Object.keys(additional).length === 0 ? byVerb : { ...byVerb, 'x-additionalOperations': additional },
      ]),
    );
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
    const item = this.#items.get(path.path) ?? { byVerb: {}, additional: {} };
    this.#items.set(path.path, item);
    const { method, template } = binding;
    this.#services.add(method.parent);
    const tag = this.#tagOf(method.parent);
    for (const verb of binding.verb === '*' ? ANY_VERB : [binding.verb]) {
      const key = VERBS.find((each) => each.toUpperCase() === verb);
      const taken = key === undefined || item.byVerb[key] !== undefined;
      // GET implies HEAD, and the methods that are taken have bindings of their own.
      if (binding.verb === '*' && (taken || key === 'head')) continue;
      const operationId = this.#operationIds.of({ binding, verb }, this.#idOf(method));
      const operation = this.#operations.of({ binding, verb, rule, path, operationId, tag });
      if (taken) item.additional[`${verb} ${template.source}`] = operation;
      else item.byVerb[key] = operation;
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
