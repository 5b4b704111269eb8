import { type DescField, ScalarType } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence as Presence } from '@bufbuild/protobuf/wkt';
import type { Binding } from '../template/binding.js';
import type { DescribedPath, Wildcard } from './described-paths.js';
import { isRequired, type MessageSchemas, type SchemaParts } from './message-schemas.js';
import type { Parameter } from './open-api.js';
import { queryFields } from './query-fields.js';
import { descriptionKeyword } from './schema-rules.js';
import { takenPaths } from './taken-paths.js';

const DEEPER =
  'Fields of messages that are nested more deeply than those below can be given in the query, too: `parent.child.field`.';

/**
 * The most steps to fields of messages in requests, for all operations together; later operations are described with
 * the fields of their request messages alone.
 */
const MAX_STEPS = 500_000;

/** The path and query parameters of operations. */
export class Parameters {
  readonly #parts: SchemaParts;
  readonly #schemas: MessageSchemas;
  #steps = 0;

  constructor(parts: SchemaParts, schemas: MessageSchemas) {
    this.#parts = parts;
    this.#schemas = schemas;
  }

  /** The parameter for the value of a field. */
  of(name: string, place: Parameter['in'], field: DescField): Parameter {
    const { example } = this.#parts.facts(field);
    return {
      name,
      in: place,
      ...descriptionKeyword(this.#parts.comments.text(field)),
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

  /** Every field that neither the path nor the body carries or excludes. */
  inQuery(binding: Binding): { readonly parameters: readonly Parameter[]; readonly note: string } {
    const { method, body } = binding;
    if (body === '*') return { parameters: [], note: '' };
    const taken = new Set(takenPaths(binding).map((path) => path.join('.')));
    const { paths, isCut, steps } = queryFields(
      method.input,
      (path) => path[0] !== body && !taken.has(path.map(({ name }) => name).join('.')),
      MAX_STEPS - this.#steps,
    );
    this.#steps += steps;
    const parameters = paths.flatMap((path): Parameter[] => {
      const name = path.map((field) => this.#schemas.nameOf(field)).join('.');
      const parameters = path.slice(-1).map((field) => this.of(name, 'query', field));
      return path.every(isRequired)
        ? parameters.map((parameter) => ({ ...parameter, required: true }))
        : parameters;
    });
    return { parameters, note: isCut ? DEEPER : '' };
  }

  #inPath({ name, variable, before, after, rest }: Wildcard): Parameter {
    const manner = rest ? 'Any number of segments, with the slashes between them.' : '';
    const slashes = rest ? ({ 'x-multi-segment': true } as const) : {};
    if (variable === undefined)
      return { name, in: 'path', ...descriptionKeyword(manner), schema: { type: 'string' }, ...slashes };
    const { field, fieldPath } = variable;
    const whole = before === '' && after === '';
    const parameter = this.of(name, 'path', field);
    const part = `\`${before}{${name}}${after}\` is the \`${fieldPath.join('.')}\`.`;
    const texts = [parameter.description ?? '', whole ? '' : part, manner].filter((text) => text !== '');
    return {
      ...parameter,
      ...descriptionKeyword(texts.join('\n\n')),
      // The bounds and the example of a field apply to its whole value.
      ...(whole ? {} : { schema: { type: 'string' } }),
      ...slashes,
    };
  }
}

function hasDefault(field: DescField): boolean {
  return (
    field.fieldKind === 'scalar' && field.scalar === ScalarType.BOOL && field.presence === Presence.IMPLICIT
  );
}
