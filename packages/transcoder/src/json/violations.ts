import { type FieldViolation, MAX_VIOLATIONS } from '../failures/failure.js';
import { shorten } from '../fields/message-fields.js';

/** The field path of a body that is the whole request message, as in google/api/http.proto. */
const WHOLE_BODY = '*';

/**
 * A step into a JSON value, by how a path shows it: a `field` as `.name`, the `key` of no known field likewise, but cut, and
 * an `item` of a list or map as `[index or key]`.
 */
type StepKind = 'field' | 'key' | 'item';

interface Violation {
  readonly kinds: readonly StepKind[];
  readonly steps: readonly (string | number)[];
  readonly describe: () => string;
}

/**
 * What is wrong in a JSON value, found by a reader that says where it is: it enters each part of the value before it reads
 * the part, and leaves it thereafter. Texts are made only when they are shown.
 */
export class Violations implements Iterable<FieldViolation> {
  readonly #found: Violation[] = [];
  /** The steps to where the reader is, and their kinds. */
  readonly #steps: (string | number)[] = [];
  readonly #kinds: StepKind[] = [];

  get count(): number {
    return this.#found.length;
  }

  /** Whether there are as many as a response shows, so that the reader need not go on. */
  get isFull(): boolean {
    return this.#found.length >= MAX_VIOLATIONS;
  }

  enter(kind: StepKind, step: string | number): void {
    this.#kinds.push(kind);
    this.#steps.push(step);
  }

  leave(): void {
    this.#kinds.pop();
    this.#steps.pop();
  }

  /**
   * Adds a violation at the place where the reader is.
   *
   * @param describe returns what is allowed, then what came, in a sentence; called only if the violation is shown.
   */
  add(describe: () => string): void {
    this.#found.push({ kinds: [...this.#kinds], steps: [...this.#steps], describe });
  }

  /** The description of the first violation; undefined if there is none. */
  firstDescription(): string | undefined {
    return this.#found[0]?.describe();
  }

  *[Symbol.iterator](): Generator<FieldViolation> {
    for (const violation of this.#found)
      yield { field: pathOf(violation), description: violation.describe() };
  }
}

/** The path of a place in proto names, as in `book.tags[2]`. */
function pathOf({ kinds, steps }: Violation): string {
  let path = '';
  for (const [index, step] of steps.entries()) {
    const isOwn = kinds[index] === 'field' || typeof step === 'number';
    const shown = isOwn ? step : shorten(step);
    if (kinds[index] === 'item') path += `[${shown}]`;
    else path += path === '' ? String(shown) : `.${shown}`;
  }
  return path || WHOLE_BODY;
}
