import { type DescField, type DescMessage, type JsonObject, ScalarType } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence as Presence } from '@bufbuild/protobuf/wkt';
import { writtenName } from '../fields/message-fields.js';
import { FieldBehavior } from '../gen/google/api/field_behavior_pb.js';
import type { JsonOptions } from '../json/json-options.js';
import { hasBehavior } from '../template/contract-options.js';
import { type Affixes, Components } from './components.js';
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

/** The fields of a message that a request gives elsewhere, such as in its path, as field paths from the message on: `['name']`. */
type Elsewhere = readonly (readonly string[])[];

/** Whether the whole field is elsewhere. */
function isElsewhere({ name }: DescField, elsewhere: Elsewhere): boolean {
  return elsewhere.some((path) => path.length === 1 && path[0] === name);
}

/** What is elsewhere of the message in a field. */
function elsewhereIn({ name }: DescField, elsewhere: Elsewhere): Elsewhere {
  return elsewhere.filter(([first]) => first === name).map((path) => path.slice(1));
}

const AFFIXES: Readonly<Record<Form, Affixes>> = {
  sent: { prefix: '', suffix: 'Input' },
  returned: { prefix: '', suffix: '' },
  created: { prefix: 'Created', suffix: '' },
};

const IF_DRY_RUN = ' The answer to a dry run lacks the fields that the service assigns.';

const isOutputOnly = (field: DescField): boolean => hasBehavior(field, FieldBehavior.OUTPUT_ONLY);

/** Whether every request must have the field. */
export function isRequired(field: DescField): boolean {
  return field.presence === Presence.LEGACY_REQUIRED || hasBehavior(field, FieldBehavior.REQUIRED);
}

/** The JSON Schemas of a contract's messages, by the rules of ProtoJSON and the facts about their fields. */
export class MessageSchemas {
  /** The schemas that were requested, and those that they refer to, by name. */
  readonly components: Readonly<Record<string, Schema>>;
  readonly #parts: SchemaParts;
  readonly #components: Components;

  constructor(parts: SchemaParts) {
    this.#parts = parts;
    this.#components = new Components(parts.names, parts.home);
    this.components = this.#components.schemas;
  }

  /** The name of a field in JSON. */
  nameOf(field: DescField): string {
    return writtenName(field, this.#parts.json.protoNames === true);
  }

  /** A reference to a message's schema, which is added as a component; the schema itself for a well-known type. */
  message(message: DescMessage, form: Form): Schema {
    const wellKnown = wellKnownSchema(message);
    if (wellKnown !== undefined) return wellKnown;
    // Without fields that a dry run's response lacks, that response is like any other.
    const used = form === 'created' && this.alwaysPresent(message).length === 0 ? 'returned' : form;
    return this.#components.referenceTo(message, AFFIXES[used], () => this.#object(message, used));
  }

  /** The schema of a field's value, with its bounds. */
  field(field: DescField, form: Form): Schema {
    const { bounds, itemBounds } = this.#parts.facts(field);
    const single = { ...this.#valueSchema(field, form), ...itemBounds };
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

  /** The body of a request: a whole message, or one field of it, without the fields that are elsewhere. */
  requestBody(content: DescMessage | DescField, elsewhere: Elsewhere): Content {
    return this.body(content, 'sent', this.#schemaWithout(elsewhere, content, 'sent'), elsewhere);
  }

  /**
   * A body with the given schema and the example of a form: a whole message, or one field of it. A create has the schema of
   * one form and the example of another.
   */
  body(content: DescMessage | DescField, form: Form, schema: Schema, elsewhere: Elsewhere = []): Content {
    const { example, name } = this.#exampleOf(content, form, elsewhere);
    const examples = example === undefined ? {} : { examples: { [name]: { value: example } } };
    return { 'application/json': { schema, ...examples } };
  }

  /** The fields that every response has, except those to dry runs, although their types allow their absence. */
  alwaysPresent({ fields }: DescMessage): DescField[] {
    return fields.filter((field) => this.#parts.facts(field).present === true);
  }

  /** The schema of a message or a field, without what is elsewhere. */
  #schemaWithout(elsewhere: Elsewhere, content: DescMessage | DescField, form: Form): Schema {
    const message = messageIn(content);
    if (message !== undefined && elsewhere.length > 0) return this.#object(message, form, elsewhere);
    return content.kind === 'message' ? this.message(content, form) : this.field(content, form);
  }

  /** The example of a message or a field without what is elsewhere, if there is any, and the name for it. */
  #exampleOf(content: DescMessage | DescField, form: Form, elsewhere: Elsewhere) {
    const message = messageIn(content);
    const { name } = message ?? content;
    const ofFields = message && this.#exampleOfFields(message.fields, form, elsewhere);
    // The example of a whole field does not fit if a part of it is elsewhere.
    const isWholeField = content.kind === 'field' && elsewhere.length === 0;
    const example = isWholeField ? this.#parts.facts(content).example : undefined;
    return { name, example: example ?? ofFields };
  }

  /**
   * The examples of the fields; for a request, without the fields that the service assigns, or of which a part is elsewhere.
   * Undefined if there are none.
   */
  #exampleOfFields(fields: readonly DescField[], form: Form, elsewhere: Elsewhere): JsonObject | undefined {
    const examples = fields
      .filter((field) => form !== 'sent' || !isOutputOnly(field))
      .filter((field) => elsewhereIn(field, elsewhere).length === 0)
      .map((field) => [this.nameOf(field), this.#parts.facts(field).example] as const)
      .filter(([, example]) => example !== undefined);
    return examples.length === 0 ? undefined : (Object.fromEntries(examples) as JsonObject);
  }

  /** The schema of a message as an object of its fields. */
  #object(message: DescMessage, form: Form, elsewhere: Elsewhere = []): Schema {
    const { comments, json } = this.#parts;
    const isHere = (field: DescField): boolean => !isElsewhere(field, elsewhere);
    const fields = message.fields.filter(isHere);
    const namesOf = (some: readonly DescField[]): string[] => some.map((field) => this.nameOf(field));
    const required = namesOf(fields.filter((field) => this.#isPresent(field, form)));
    const example = this.#exampleOfFields(fields, form, elsewhere);
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
      ...atMostOne(message.oneofs.map(({ fields: members }) => namesOf(members.filter(isHere)))),
      ...(example === undefined ? {} : { examples: [example] }),
    };
  }

  #property(field: DescField, form: Form, elsewhere: Elsewhere): Schema {
    const schema = this.#schemaWithout(elsewhereIn(field, elsewhere), field, form);
    return {
      ...(form === 'sent' && !isRequired(field) ? nullable(schema) : schema),
      ...descriptionKeyword(this.#parts.comments.text(field)),
      ...(field.deprecated ? { deprecated: true } : {}),
      ...(isOutputOnly(field) ? { readOnly: true } : {}),
      ...(hasBehavior(field, FieldBehavior.INPUT_ONLY) ? { writeOnly: true } : {}),
    };
  }

  /** The schema of a field that is not repeated, or of one item or value of a repeated or map field. */
  #valueSchema(field: DescField, form: Form): Schema {
    if (field.message !== undefined) return this.message(field.message, form);
    const { enum: type } = field;
    if (type === undefined) return scalarSchemas[field.scalar];
    if (type.typeName === 'google.protobuf.NullValue') return { type: 'null' };
    return this.#components.referenceTo(type, AFFIXES.returned, () => enumSchema(type, this.#parts.comments));
  }

  /** Whether every message of the form has the field. */
  #isPresent(field: DescField, form: Form): boolean {
    if (form === 'sent') return isRequired(field);
    const { facts, json } = this.#parts;
    // The form `created` is that of a dry run, too, which lacks it.
    if (facts(field).present === true) return form === 'returned';
    if (field.presence !== Presence.IMPLICIT) return field.presence === Presence.LEGACY_REQUIRED;

    // A field without presence is left out only if the JSON options omit its default.
    const { omit = 'nothing' } = json;
    const isText = field.fieldKind === 'scalar' && field.scalar === ScalarType.STRING;
    const mayBeUnassigned = isText && isOutputOnly(field);
    return omit === 'nothing' || (omit === 'unassigned' && !mayBeUnassigned);
  }
}

/** The message that a body is; undefined for a field that is a list, a map or a scalar. */
function messageIn(content: DescMessage | DescField): DescMessage | undefined {
  if (content.kind === 'message') return content;
  return content.fieldKind === 'message' ? content.message : undefined;
}
