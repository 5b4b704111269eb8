import type { DescEnum } from '@bufbuild/protobuf';
import type { ContractComments } from './contract-comments.js';
import type { Schema } from './open-api.js';

/** The same schema, for which null is the absence of a value. */
export function nullable(schema: Schema): Schema {
  const { type } = schema;
  if (type === 'null' || Object.keys(schema).length === 0) return schema;
  return typeof type === 'string'
    ? { ...schema, type: [type, 'null'] }
    : { anyOf: [schema, { type: 'null' }] };
}

/**
 * Schemas of which an object that has at most one of the properties fulfils none: each splits the names in two, so that
 * they stay few where a oneof has many members.
 */
export function rivalries(names: readonly string[]): Schema[] {
  if (names.length < 2) return [];
  const middle = names.length >> 1;
  const halves = [names.slice(0, middle), names.slice(middle)];
  return [{ allOf: halves.map(anyOf) }, ...halves.flatMap(rivalries)];
}

function anyOf(names: readonly string[]): Schema {
  const each = names.map((name) => ({ required: [name] }));
  const [only] = each;
  return each.length === 1 && only !== undefined ? only : { anyOf: each };
}

/** The names of an enum's values, which requests may also give as numbers. */
export function enumSchema(type: DescEnum, comments: ContractComments): Schema {
  const values = type.values.map((value) => ({ name: value.name, text: comments.text(value) }));
  const items = values.flatMap(({ name, text }) => (text === '' ? [] : [`- \`${name}\`: ${text}`]));
  const texts = [comments.text(type), items.join('\n')].filter((text) => text !== '');
  return {
    type: 'string',
    ...described(texts.join('\n\n')),
    ...(type.deprecated ? { deprecated: true } : {}),
    enum: values.map(({ name }) => name),
  };
}

/** The keyword for a text; none for an empty one. */
export function described(description: string): { readonly description?: string } {
  return description === '' ? {} : { description };
}
