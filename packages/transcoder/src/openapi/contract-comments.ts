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
   * @param protoNames whether JSON has the proto names of fields.
   */
  constructor(comments: Readonly<Record<string, string>>, protoNames = false) {
    this.#comments = comments;
    this.#protoNames = protoNames;
  }

  /** The whole comment, one line per paragraph or list item; empty if there is none. */
  text(descriptor: Commented): string {
    const { kind } = descriptor;
    return this.named(
      kind === 'field' || kind === 'rpc' || kind === 'enum_value'
        ? `${descriptor.parent.typeName}.${descriptor.name}`
        : descriptor.typeName,
    );
  }

  /** The comment of the element or package with the full proto name. */
  named(name: string): string {
    const own = Object.hasOwn(this.#comments, name) ? this.#comments[name] : undefined;
    return own === undefined ? '' : this.#inWordsOfRest(unwrapped(own));
  }

  /** The first sentence, without its full stop. */
  summary(descriptor: DescService | DescMethod): string {
    return /^.*?(?=\.(?:\s|$))/.exec(this.text(descriptor))?.[0] ?? '';
  }

  /** The text after the first sentence. */
  description(method: DescMethod): string {
    return this.text(method).slice(this.summary(method).length).replace(/^\./, '').trim();
  }

  /** The reasons of failures that the comment of a method names in backquotes. */
  reasons(method: DescMethod): Set<string> {
    return new Set([...this.text(method).matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, name = '']) => name));
  }

  /** Replaces the names of fields with their JSON names, and references such as `[name][full.name]` with the name. */
  #inWordsOfRest(comment: string): string {
    const linked = comment.replace(
      /\[([^\][]+)\]\[[\w.]*\]/g,
      (_, name: string) => `\`${name.replaceAll('`', '')}\``,
    );
    if (this.#protoNames) return linked;
    return linked.replace(/`([a-z]+(?:_[a-z]+)+)`/g, (_, field: string) => `\`${protoCamelCase(field)}\``);
  }
}

/** Internal comments, `(-- … --)`, which are for the authors alone (AIP-192). */
const INTERNAL = /\(--[^]*?--\)/g;
/** A line break within a paragraph: the next line does not begin a list item, quote, table, heading or code block. */
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
