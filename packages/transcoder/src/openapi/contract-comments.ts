import type {
  DescEnum,
  DescEnumValue,
  DescField,
  DescMessage,
  DescMethod,
  DescService,
} from '@bufbuild/protobuf';
import { protoCamelCase } from '@bufbuild/protobuf/reflect';

type Commented = DescService | DescMethod | DescMessage | DescField | DescEnum | DescEnumValue;

/** The comments of a contract as Markdown for REST clients, and the error reasons that they name. */
export class ContractComments {
  readonly #comments: Readonly<Record<string, string>>;
  readonly #protoNames: boolean;

  /**
   * @param comments by full proto name.
   * @param protoNames whether the clients know fields by their proto names.
   */
  constructor(comments: Readonly<Record<string, string>>, protoNames = false) {
    this.#comments = comments;
    this.#protoNames = protoNames;
  }

  /** The whole comment, one line per paragraph or item of a list; empty if there is none. */
  text(descriptor: Commented): string {
    const { kind } = descriptor;
    return this.named(
      kind === 'field' || kind === 'rpc' || kind === 'enum_value'
        ? `${descriptor.parent.typeName}.${descriptor.name}`
        : descriptor.typeName,
    );
  }

  /** The comment of what has the full proto name: also of a package. */
  named(name: string): string {
    const own = Object.hasOwn(this.#comments, name) ? this.#comments[name] : undefined;
    return this.#inWordsOfRest(unwrapped(own ?? ''));
  }

  /** The first sentence, without its full stop. */
  summary(descriptor: DescService | DescMethod): string {
    return /^.*?(?=\.(?:\s|$))/.exec(this.text(descriptor))?.[0] ?? '';
  }

  /** The text after the first sentence. */
  description(method: DescMethod): string {
    return this.text(method).slice(this.summary(method).length).replace(/^\./, '').trim();
  }

  /** The reasons of failures in the comment of a method. */
  reasons(method: DescMethod): Set<string> {
    return new Set([...this.text(method).matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, name = '']) => name));
  }

  /** Fields under their JSON names, and names in place of references between comments. */
  #inWordsOfRest(comment: string): string {
    const linked = comment.replace(
      /\[([^\][]+)\]\[[\w.]*\]/g,
      (_, name: string) => `\`${name.replaceAll('`', '')}\``,
    );
    if (this.#protoNames) return linked;
    return linked.replace(/`([a-z]+(?:_[a-z]+)+)`/g, (_, field: string) => `\`${protoCamelCase(field)}\``);
  }
}

/** Comments inside a comment, which are for the authors alone (AIP-192). */
const INTERNAL = /\(--[^]*?--\)/g;
/** The end of a line that the next one continues: it begins neither an item, a table nor a block of code. */
const SOFT_BREAK = /[^\S\n]*\n(?!\s*\n|\s*(?:[-*+>|#]|\d+[.)])\s| {4})[^\S\n]*/g;

function unwrapped(comment: string): string {
  return comment
    .replace(INTERNAL, '')
    .replace(/^ /gm, '')
    .trim()
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replace(SOFT_BREAK, ' '))
    .join('\n\n');
}
