import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonObject,
  ScalarType,
} from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence as Presence } from '@bufbuild/protobuf/wkt';
import { writtenName } from '../fields/message-fields.js';
import { FieldBehavior } from '../gen/google/api/field_behavior_pb.js';
import type { JsonOptions } from '../json/json-options.js';
import { hasBehavior } from '../template/contract-options.js';
import type { ContractComments } from './contract-comments.js';
import type { ContractFacts } from './contract-facts.js';
import type { Names } from './names.js';
import type { Content, Schema } from './open-api.js';
import { descriptionKeyword, enumSchema, nullable, atMostOne } from './schema-rules.js';
import { keySchemas, scalarSchemas, wellKnownSchema } from './type-schemas.js';

/**
 * The three forms of a message: as a client sends it, as the service returns it, and as a create returns it, whose dry
 * run omits the fields that the service assigns.
 */
type Form = 'sent' | 'returned' | 'created';

/** The parts that the schemas of a contract are built from. */
export interface SchemaParts {
  readonly comments: ContractComments;
  readonly facts: ContractFacts;
  readonly json: JsonOptions;
  /** The proto package that is left out of the names of its messages' schemas. */
  readonly home: string;
  /** The names of all schemas. */
  readonly names: Names;
}

/** Fields of a body that are in the path instead, as field paths from the body on: `['name']`. */
type Elsewhere = readonly (readonly string[])[];

const AFFIXES = { sent: ['', 'Input'], returned: ['', ''], created: ['Created', ''] } as const;

/** How deep schemas are nested while they are built; a chain of messages may be longer than the call stack. */
const MAX_DEPTH = 100;

const IF_DRY_RUN = ' The answer to a dry run lacks the fields that the service assigns.';

const isOutputOnly = (field: DescField): boolean => hasBehavior(field, FieldBehavior.OUTPUT_ONLY);

/** Whether every request must have the field. */
export function isRequired(field: DescField): boolean {
  return field.presence === Presence.LEGACY_REQUIRED || hasBehavior(field, FieldBehavior.REQUIRED);
}

/** The JSON Schemas of a contract's messages, by the rules of ProtoJSON and the facts about their fields. */
export class MessageSchemas {
  /** The schemas that were requested, and those that they refer to, by name. */
  readonly components: Record<string, Schema> = {};
  readonly #parts: SchemaParts;
  /** The references to components, by affixes and type. */
  readonly #references = new Map<string, Schema>();
  /** The schemas that are nested too deeply to be built yet. */
  readonly #deeper: (() => void)[] = [];
  #depth = 0;

  constructor(parts: SchemaParts) {
    this.#parts = parts;
  }

  /** The name of a field in JSON. */
  nameOf(field: DescField): string {
    return writtenName(field, this.#parts.json.protoNames === true);
  }

  /** A reference to a message's schema, which is added as a component; the schema itself for a well-known type. */
  message(message: DescMessage, form: Form): Schema {
    const own = wellKnownSchema(message);
    if (own !== undefined) return own;
    // Without such fields, the response to a dry run is like any other.
    const used = form === 'created' && this.alwaysPresent(message).length === 0 ? 'returned' : form;
    return this.#component(message, AFFIXES[used], () => this.#object(message, used));
  }

  /** The schema of a field's value, with its bounds. */
  field(field: DescField, form: Form): Schema {
    const { bounds, itemBounds } = this.#parts.facts(field);
    const single = { ...this.#single(field, form), ...itemBounds };
    if (field.fieldKind === 'list') return { type: 'array', items: single, ...bounds };
    if (field.fieldKind !== 'map') return { ...single, ...bounds };
    const keys = keySchemas.get(field.mapKey);
    return {
      type: 'object',
      ...(keys === undefined ? {} : { propertyNames: keys }),
      additionalProperties: single,
      ...bounds,
    };
  }

  /** A body that is a whole message, or one field of it. @param schema replaces the schema of the form */
  body(content: DescMessage | DescField, form: Form, schema = this.#own(content, form)): Content {
    const { example, name } = this.#exampleOf(content, form);
    const examples = example === undefined ? {} : { examples: { [name]: { value: example } } };
    return { 'application/json': { schema, ...examples } };
  }

  /** The schema of a body without the fields that are elsewhere in the request. */
  bodyWithout(content: DescMessage | DescField, elsewhere: Elsewhere): Schema {
    const message = content.kind === 'message' ? content : content.message;
    if (message === undefined || elsewhere.length === 0) return this.#own(content, 'sent');
    return this.#object(message, 'sent', elsewhere);
  }

  /** The fields that every response has, except those to dry runs, although their types allow their absence. */
  alwaysPresent({ fields }: DescMessage): DescField[] {
    return fields.filter((field) => this.#parts.facts(field).present === true);
  }

  #own(content: DescMessage | DescField, form: Form): Schema {
    return content.kind === 'message' ? this.message(content, form) : this.field(content, form);
  }

  #exampleOf(content: DescMessage | DescField, form: Form) {
    const example = content.kind === 'field' ? this.#parts.facts(content).example : undefined;
    const message = content.kind === 'message' ? content : content.message;
    const { name } = message ?? content;
    return { name, example: example ?? (message && this.#example(message.fields, form)) };
  }

  /**
   * The examples of the fields; for a request, without the fields that the service assigns. Undefined if there are
   * none.
   */
  #example(fields: readonly DescField[], form: Form): JsonObject | undefined {
    const examples = fields
      .filter((field) => form !== 'sent' || !isOutputOnly(field))
      .map((field) => [this.nameOf(field), this.#parts.facts(field).example] as const)
      .filter(([, example]) => example !== undefined);
    return examples.length === 0 ? undefined : (Object.fromEntries(examples) as JsonObject);
  }

  #component(
    type: DescMessage | DescEnum,
    [before, after]: readonly [string, string],
    schema: () => Schema,
  ): Schema {
    const { home, names } = this.#parts;
    const { typeName } = type;
    const key = [before, typeName, after].join(' ');
    const known = this.#references.get(key);
    if (known !== undefined) return known;
    const short = typeName.startsWith(`${home}.`) ? typeName.slice(home.length + 1) : typeName;
    const name = names.of(key, before + short + after, before + typeName + after);
    const reference = { $ref: `#/components/schemas/${name}` };
    this.#references.set(key, reference);
    // Reserves the place in the order, since the schema may add others, and may refer to itself.
    this.components[name] = reference;
    this.#build(() => {
      this.components[name] = schema();
    });
    return reference;
  }

  /** Calls `build`, now or, if it is nested too deeply, once the outermost call is done. */
  #build(build: () => void): void {
    if (this.#depth === MAX_DEPTH) {
      this.#deeper.push(build);
      return;
    }
    this.#depth += 1;
    build();
    this.#depth -= 1;
    if (this.#depth > 0) return;
    for (let next = this.#deeper.pop(); next !== undefined; next = this.#deeper.pop()) this.#build(next);
  }

  #object(message: DescMessage, form: Form, elsewhere: Elsewhere = []): Schema {
    const { comments, json } = this.#parts;
    const moved = new Set(elsewhere.filter(({ length }) => length === 1).map(([name]) => name));
    const fields = message.fields.filter(({ name }) => !moved.has(name));
    const namesOf = (some: readonly DescField[]): string[] => some.map((field) => this.nameOf(field));
    const required = namesOf(fields.filter((field) => this.#isPresent(field, form)));
    const example = this.#example(fields, form);
    return {
      type: 'object',
      ...descriptionKeyword(`${comments.text(message)}${form === 'created' ? IF_DRY_RUN : ''}`),
      ...(message.deprecated ? { deprecated: true } : {}),
      ...(required.length === 0 ? {} : { required }),
      properties: Object.fromEntries(
        fields.map((field) => [this.nameOf(field), this.#property(field, form, elsewhere)]),
      ),
      // A client must not send other properties; the service may return new ones later.
      ...(form === 'sent' && json.ignoreUnknown !== true ? { additionalProperties: false } : {}),
      ...atMostOne(
        message.oneofs.map(({ fields: members }) => namesOf(members.filter(({ name }) => !moved.has(name)))),
      ),
      ...(example === undefined ? {} : { examples: [example] }),
    };
  }

  #property(field: DescField, form: Form, elsewhere: Elsewhere): Schema {
    const inside = elsewhere.flatMap(([first, ...rest]) => (first === field.name ? [rest] : []));
    const schema = inside.length === 0 ? this.field(field, form) : this.bodyWithout(field, inside);
    return {
      ...(form === 'sent' && !isRequired(field) ? nullable(schema) : schema),
      ...descriptionKeyword(this.#parts.comments.text(field)),
      ...(field.deprecated ? { deprecated: true } : {}),
      ...(isOutputOnly(field) ? { readOnly: true } : {}),
      ...(hasBehavior(field, FieldBehavior.INPUT_ONLY) ? { writeOnly: true } : {}),
    };
  }

  #single(field: DescField, form: Form): Schema {
    if (field.message !== undefined) return this.message(field.message, form);
    const { enum: type } = field;
    if (type === undefined) return scalarSchemas[field.scalar];
    if (type.typeName === 'google.protobuf.NullValue') return { type: 'null' };
    return this.#component(type, AFFIXES.returned, () => enumSchema(type, this.#parts.comments));
  }

  #isPresent(field: DescField, form: Form): boolean {
    if (form === 'sent') return isRequired(field);
    const { facts, json } = this.#parts;
    if (facts(field).present === true) return form === 'returned';
    if (field.presence !== Presence.IMPLICIT) return field.presence === Presence.LEGACY_REQUIRED;
    const { omit = 'nothing' } = json;
    const isText = field.fieldKind === 'scalar' && field.scalar === ScalarType.STRING;
    return omit === 'nothing' || (omit === 'unassigned' && !(isText && isOutputOnly(field)));
  }
}
