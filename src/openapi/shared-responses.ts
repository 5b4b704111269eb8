import type { Reference, Response, Responses } from './open-api.js';
import type { DescribedOperation } from './operations.js';

/** The responses shared by several operations, as components, and the responses of each operation. */
export class SharedResponses {
  /** By component name. */
  readonly components: Readonly<Record<string, Response>>;
  readonly #names: ReadonlyMap<string, string>;

  constructor(operations: readonly DescribedOperation[]) {
    const seen = new Set<string>();
    const names = new Map<string, string>();
    const components: Record<string, Response> = {};
    for (const [status, response] of operations.flatMap(({ responses }) => [...responses])) {
      const text = JSON.stringify(response);
      const name = `Error${status}`;
      if (seen.has(text) && !(name in components)) {
        components[name] = response;
        names.set(text, name);
      }
      seen.add(text);
    }
    this.components = components;
    this.#names = names;
  }

  /** The responses of an operation by HTTP status; shared ones are references. */
  of({ responses }: DescribedOperation): Responses {
    const entries = [...responses].map(([status, response]): [string, Response | Reference] => {
      const name = this.#names.get(JSON.stringify(response));
      return [String(status), name === undefined ? response : { $ref: `#/components/responses/${name}` }];
    });
    return Object.fromEntries(entries);
  }
}
