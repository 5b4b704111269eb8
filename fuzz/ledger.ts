import { createHash } from 'node:crypto';

/** A route as an answer of either protocol shows it, in ProtoJSON. */
export interface ShownRoute {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly middleware: readonly string[];
  readonly handler: string;
  readonly createdAt: string;
}

/** The creates that the service acknowledged, and those whose outcome is unknown. */
export class Ledger {
  /** A digest of each acknowledged route by its id. */
  readonly #acknowledged = new Map<string, string>();
  /** Creates that may have been stored, though nobody was told. */
  unsure = 0;
  /** Refusals with `OVERLOADED`. */
  overloaded = 0;

  get size(): number {
    return this.#acknowledged.size;
  }

  /** Remembers a create that was answered. Returns what is wrong with it, if anything. */
  acknowledge(route: ShownRoute): string[] {
    const digest = digestOf(route);
    const before = this.#acknowledged.get(route.id) ?? digest;
    this.#acknowledged.set(route.id, digest);
    return before === digest ? [] : [`The route ${route.id} was acknowledged with two contents.`];
  }

  /** Compares with everything that is stored now. Returns what is wrong. */
  compare(stored: readonly ShownRoute[]): string[] {
    const digests = new Map(stored.map((route) => [route.id, digestOf(route)]));
    const wrong = [...this.#acknowledged].filter(([id, digest]) => digests.get(id) !== digest);
    const unknown = stored.filter(({ id }) => !this.#acknowledged.has(id));
    const problems = wrong.map(([id]) => `The acknowledged route ${id} is not stored as acknowledged.`);
    if (unknown.length > this.unsure) {
      problems.push(
        `${unknown.length} routes are stored that no answer acknowledged; at most ${this.unsure} answers were missed.`,
      );
    }
    const strange = stored.filter(({ handler }) => handler === FORBIDDEN);
    return [
      ...problems,
      ...strange.map(({ id }) => `The route ${id} is stored for a client without a token.`),
    ];
  }
}

/** The handler of the routes that clients without a good token try to create. */
export const FORBIDDEN = 'forbidden';

function digestOf({ id, method, path, middleware, handler, createdAt }: ShownRoute): string {
  const text = JSON.stringify([id, method, path, middleware, handler, createdAt]);
  return createHash('sha256').update(text).digest('base64');
}
