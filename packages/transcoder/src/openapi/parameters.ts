import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence as Presence, hasCustomJsonRepresentation } from '@bufbuild/protobuf/wkt';
import { hasTextForm } from '../fields/text-value.js';
import type { Binding } from '../template/binding.js';
import type { DescribedPath, Wildcard } from './described-paths.js';
import { isRequired, type MessageSchemas, type SchemaParts } from './message-schemas.js';
import type { Parameter } from './open-api.js';
import { described } from './schema-rules.js';

/** A field of a request, and the message fields that lead to it. */
interface Leaf {
  readonly parents: readonly DescField[];
  readonly field: DescField;
}

/** The path and query parameters of operations. */
export class Parameters {
  readonly #parts: SchemaParts;
  readonly #schemas: MessageSchemas;

  constructor(parts: SchemaParts, schemas: MessageSchemas) {
    this.#parts = parts;
    this.#schemas = schemas;
  }

  /** The parameter for the value of a field. */
  of(name: string, place: Parameter['in'], field: DescField): Parameter {
    const { example } = this.#parts.facts.of(field);
    return {
      name,
      in: place,
      ...described(this.#parts.comments.text(field)),
      ...(field.deprecated ? { deprecated: true } : {}),
      schema: {
        ...this.#schemas.field(field, 'sent'),
        ...(hasDefault(field) ? { default: false } : {}),
        ...(example === undefined ? {} : { examples: [example] }),
      },
    };
  }

  inPath({ wildcards }: DescribedPath): Parameter[] {
    return wildcards.map((wildcard) => ({ ...this.#inPath(wildcard), required: true }));
  }

  /** Every field that neither the path nor the body carries. */
  inQuery({ method, variables, body }: Binding): Parameter[] {
    if (body === '*') return [];
    const bound = new Set(variables.map(({ fieldPath }) => fieldPath.join('.')));
    return leaves(method.input, [])
      .filter(({ parents, field }) => (parents[0] ?? field) !== body)
      .filter(({ parents, field }) => !bound.has([...parents, field].map(({ name }) => name).join('.')))
      .map(({ parents, field }) => {
        const path = [...parents, field];
        const parameter = this.of(path.map((each) => this.#schemas.nameOf(each)).join('.'), 'query', field);
        return path.every(isRequired) ? { ...parameter, required: true } : parameter;
      });
  }

  #inPath({ name, variable, before, after, rest }: Wildcard): Parameter {
    const manner = rest ? 'All remaining segments, with the slashes between them.' : '';
    if (variable === undefined) return { name, in: 'path', ...described(manner), schema: { type: 'string' } };
    const { field, fieldPath } = variable;
    const whole = before === '' && after === '';
    const parameter = this.of(name, 'path', field);
    const part = `\`${before}{${name}}${after}\` is the \`${fieldPath.join('.')}\`.`;
    const texts = [parameter.description ?? '', whole ? '' : part, manner].filter((text) => text !== '');
    return {
      ...parameter,
      ...described(texts.join('\n\n')),
      // The bounds and the example of a field apply to its whole value.
      ...(whole ? {} : { schema: { type: 'string' } }),
    };
  }
}

/** The fields with a text form, of a message and of messages in it. A message that contains itself is entered once. */
function leaves(message: DescMessage, parents: readonly DescField[]): Leaf[] {
  if (parents.some(({ parent }) => parent === message)) return [];
  return message.fields.flatMap((field) => {
    if (hasTextForm(field)) return [{ parents, field }];
    if (field.fieldKind !== 'message' || hasCustomJsonRepresentation(field.message)) return [];
    return leaves(field.message, [...parents, field]);
  });
}

function hasDefault(field: DescField): boolean {
  return (
    field.fieldKind === 'scalar' && field.scalar === ScalarType.BOOL && field.presence === Presence.IMPLICIT
  );
}
