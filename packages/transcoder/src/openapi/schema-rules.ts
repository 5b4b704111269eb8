import type { DescEnum } from '@bufbuild/protobuf';
import type { ContractComments } from './contract-comments.js';
import type { Schema } from './open-api.js';

/** The schema, which also allows null for an absent value. */
export function nullable(schema: Schema): Schema {
  const { type } = schema;
  if (type === 'null' || Object.keys(schema).length === 0) return schema;
  return typeof type === 'string'
    ? { ...schema, type: [type, 'null'] }
    : { anyOf: [schema, { type: 'null' }] };
}

/** The keyword for objects that have at most one property of each group. */
export function atMostOne(groups: readonly (readonly string[])[]): Schema {
  const pairs = groups.flatMap(twoOf);
  return pairs.length === 0 ? {} : { not: anyOf(pairs) };
}

/**
 * Schemas of which an object with two or more of the properties matches at least one. The names are split in halves
 * recursively, which takes fewer schemas than one for each pair if a oneof has many members.
 */
function twoOf(names: readonly string[]): Schema[] {
  if (names.length < 2) return [];
  const middle = names.length >> 1;
  const halves = [names.slice(0, middle), names.slice(middle)];
  const both = halves.map((half) => anyOf(half.map((name) => ({ required: [name] }))));
  return [{ allOf: both }, ...halves.flatMap(twoOf)];
}

function anyOf(schemas: readonly Schema[]): Schema {
  const [only, ...others] = schemas;
  return only !== undefined && others.length === 0 ? only : { anyOf: [...schemas] };
}

/** The schema of an enum: the names of its values, although requests may also have numbers. */
export function enumSchema(type: DescEnum, comments: ContractComments): Schema {
  const values = type.values.map((value) => ({ name: value.name, text: comments.text(value) }));
  const items = values.flatMap(({ name, text }) => (text === '' ? [] : [`- \`${name}\`: ${text}`]));
  const texts = [comments.text(type), items.join('\n')].filter((text) => text !== '');
  return {
    type: 'string',
    ...descriptionKeyword(texts.join('\n\n')),
    ...(type.deprecated ? { deprecated: true } : {}),
    enum: values.map(({ name }) => name),
  };
}

/** The keyword for a description; none for an empty text. */
export function descriptionKeyword(description: string): { readonly description?: string } {
  return description === '' ? {} : { description };
}
