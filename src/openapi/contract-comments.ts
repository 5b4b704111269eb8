import type { DescField, DescMessage, DescMethod, DescService } from '@bufbuild/protobuf';
import { protoCamelCase } from '@bufbuild/protobuf/reflect';

/** The parts of a contract that comments are read from. */
export type Commented = DescService | DescMethod | DescMessage | DescField;

/** The comments of a contract, worded for its REST interface, as Markdown, and the error reasons that they name. */
export class ContractComments {
  readonly #comments: Readonly<Record<string, string>>;

  /** @param comments by full proto name. */
  constructor(comments: Readonly<Record<string, string>>) {
    this.#comments = Object.fromEntries(
      Object.entries(comments).map(([name, comment]) => [name, inWordsOfRest(comment)]),
    );
  }

  /** The whole comment, one line per paragraph; empty if there is none. */
  text(descriptor: Commented): string {
    return unwrapped(this.#commentOf(descriptor));
  }

  /** The comment above `package`. */
  ofPackage(name: string): string {
    return unwrapped(this.#comments[name] ?? '');
  }

  /** The first sentence, without its full stop. */
  summary(descriptor: Commented): string {
    return /^.*?(?=\.(?:\s|$))/.exec(this.text(descriptor))?.[0] ?? '';
  }

  /** The text after the first sentence. */
  description(descriptor: Commented): string {
    return this.text(descriptor)
      .slice(this.summary(descriptor).length + 1)
      .trim();
  }

  /** The reasons of failures in the comments of a method and its service: those that its clients can see. */
  reasons(method: DescMethod): Set<string> {
    const text = `${this.text(method.parent)} ${this.text(method)}`;
    return new Set([...text.matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, name = '']) => name));
  }

  #commentOf(descriptor: Commented): string {
    const { kind } = descriptor;
    const name =
      kind === 'field' || kind === 'rpc'
        ? `${descriptor.parent.typeName}.${descriptor.name}`
        : descriptor.typeName;
    return this.#comments[name] ?? '';
  }
}

function unwrapped(comment: string): string {
  return comment
    .split(/\n{2,}/)
    .map((paragraph) => paragraph.replace(/\s+/g, ' ').trim())
    .join('\n\n');
}

/**
 * Rewords a comment for REST clients: fields under their JSON names, metadata as headers, and without the numbers of
 * Google's API guidelines (AIPs).
 */
function inWordsOfRest(comment: string): string {
  return comment
    .replace(/`([a-z]+(?:_[a-z]+)+)`/g, (_, field: string) => `\`${protoCamelCase(field)}\``)
    .replace(/\bmetadata(?=\s+`)/g, 'header')
    .replace(/\s+\(AIP-\d+\)/g, '');
}
