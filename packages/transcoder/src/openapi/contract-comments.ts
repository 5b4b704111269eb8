import type {
  DescEnum,
  DescEnumValue,
  DescField,
  DescMessage,
  DescMethod,
  DescService,
} from '@bufbuild/protobuf';

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
    const name =
      kind === 'field' || kind === 'rpc' || kind === 'enum_value'
        ? `${descriptor.parent.typeName}.${descriptor.name}`
        : descriptor.typeName;
    return this.#textOf(name, messagesOf(descriptor));
  }

  /** The comment above a proto package. @param services those of the package that are described */
  ofPackage(name: string, services: readonly DescService[]): string {
    return this.#textOf(name, services.flatMap(messagesOf));
  }

  /** @param messages the messages whose fields the comment may name */
  #textOf(name: string, messages: readonly DescMessage[]): string {
    const own = Object.hasOwn(this.#comments, name) ? this.#comments[name] : undefined;
    return own === undefined ? '' : this.#inWordsOfRest(unwrapLines(own), messages);
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
  #inWordsOfRest(comment: string, messages: readonly DescMessage[]): string {
    const linked = comment.replace(
      /\[([^\][]+)\]\[[\w.]*\]/g,
      (_, name: string) => `\`${name.replaceAll('`', '')}\``,
    );
    if (this.#protoNames) return linked;
    // Other words, such as keys of metadata, stay as they are.
    return linked.replace(
      /`([a-z]+(?:_[a-z]+)+)`/g,
      (_, word: string) => `\`${jsonNameIn(messages, word) ?? word}\``,
    );
  }
}

/** The messages whose fields a comment names: the message that it is about or in, or those of its method. */
function messagesOf(descriptor: Commented): DescMessage[] {
  switch (descriptor.kind) {
    case 'message':
      return [descriptor];
    case 'field':
      return [descriptor.parent];
    case 'rpc':
      return [descriptor.input, descriptor.output];
    case 'service':
      return descriptor.methods.flatMap(messagesOf);
    case 'enum':
      return descriptor.parent === undefined ? [] : [descriptor.parent];
    case 'enum_value':
      return messagesOf(descriptor.parent);
  }
}

/** The JSON name of the field with the given proto name in the messages, or in all within them. */
function jsonNameIn(messages: readonly DescMessage[], name: string): string | undefined {
  const reached = new Set(messages);
  // The loop goes on to the messages that it adds.
  for (const { fields } of reached)
    for (const field of fields) {
      if (field.name === name) return field.jsonName;
      if (field.message !== undefined) reached.add(field.message);
    }
  return undefined;
}

/** Internal comments, `(-- … --)`, which are for the authors alone (AIP-192). */
const INTERNAL = /\(--[^]*?--\)/g;
/** A line break within a paragraph: the next line does not begin a list item, quote, table, heading or code block. */
const SOFT_BREAK = /[^\S\n]*\n(?!\s*\n|\s*(?:[-*+>|#]|\d+[.)])\s| {4})[^\S\n]*/g;

function unwrapLines(comment: string): string {
  return comment
    .replace(INTERNAL, '')
    .replace(/^ /gm, '')
    .trim()
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replace(SOFT_BREAK, ' '))
    .join('\n\n');
}
