import type { DescField, DescMessage, DescMethod, DescService } from '@bufbuild/protobuf';
import { protoCamelCase } from '@bufbuild/protobuf/reflect';

/** The comments of a contract, worded for its REST interface, as Markdown, and the error reasons that they name. */
export class ContractComments {
  readonly #comments: Readonly<Record<string, string>>;

  /** @param comments by full proto name. */
  constructor(comments: Readonly<Record<string, string>>) {
    this.#comments = Object.fromEntries(
      Object.entries(comments).map(([name, comment]) => [name, unwrapped(inWordsOfRest(comment))]),
    );
  }

  /** The whole comment, one line per paragraph; empty if there is none. */
  text(descriptor: DescService | DescMethod | DescMessage | DescField): string {
    const { kind } = descriptor;
    const name =
      kind === 'field' || kind === 'rpc'
        ? `${descriptor.parent.typeName}.${descriptor.name}`
        : descriptor.typeName;
    return this.#comments[name] ?? '';
  }

  /** The comment above `package`. */
  ofPackage(name: string): string {
    return this.#comments[name] ?? '';
  }

  /** The first sentence, without its full stop. */
  summary(descriptor: DescService | DescMethod): string {
    return /^.*?(?=\.(?:\s|$))/.exec(this.text(descriptor))?.[0] ?? '';
  }

  /** The text after the first sentence. */
  description(method: DescMethod): string {
    return this.text(method)
      .slice(this.summary(method).length + 1)
      .trim();
  }

  /** The reasons of failures in the comment of a method. */
  reasons(method: DescMethod): Set<string> {
    return new Set([...this.text(method).matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, name = '']) => name));
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
