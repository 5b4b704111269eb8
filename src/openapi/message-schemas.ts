import { type DescField, type DescMessage, type JsonObject, ScalarType } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import { FieldBehavior, hasBehavior } from '@route-registry/transcoder/description';
import type { ContractComments } from './contract-comments.js';
import { factsOf } from './field-facts.js';
import type { Content, Schema } from './open-api.js';

/**
 * The three forms of a message: as a client sends it, as the service returns it, and as a create returns it, whose dry
 * run omits the fields that the service assigns.
 */
type Form = 'sent' | 'returned' | 'created';

/** The ProtoJSON forms of the types that the contract has. */
const scalars: Partial<Record<ScalarType, Schema>> = {
  [ScalarType.BOOL]: { type: 'boolean' },
  [ScalarType.INT32]: { type: 'integer', format: 'int32' },
  // As text, since JavaScript's numbers have too few bits.
  [ScalarType.INT64]: { type: 'string', pattern: '^-?[0-9]+$' },
  [ScalarType.STRING]: { type: 'string' },
};
const TIMESTAMP = { type: 'string', format: 'date-time' };

const isAssigned = (field: DescField) => hasBehavior(field, FieldBehavior.OUTPUT_ONLY);
const isRequired = (field: DescField) => hasBehavior(field, FieldBehavior.REQUIRED);

const IF_DRY_RUN = ' The answer to a dry run lacks the fields that the service assigns.';

/** The JSON Schemas of a contract's messages, from the rules of ProtoJSON and the bounds of the domain. */
export class MessageSchemas {
  /** The schemas that were requested, and those that they refer to, by name. */
  readonly components: Record<string, Schema> = {};
  readonly #comments: ContractComments;

  constructor(comments: ContractComments) {
    this.#comments = comments;
  }

  /** A reference to a message's schema, which is added as a component. */
  message(message: DescMessage, form: Form): Schema {
    const name = {
      sent: `${message.name}Input`,
      returned: message.name,
      created: `Created${message.name}`,
    }[form];
    this.components[name] ??= this.#object(message, form);
    return { $ref: `#/components/schemas/${name}` };
  }

  /**
   * The schema of a field's value, with the domain's bounds.
   *
   * @throws Error with one sentence, if the field has a type that no schema is known for.
   */
  field(field: DescField, form: Form): Schema {
    const facts = factsOf(field.parent.typeName, field.jsonName);
    const single = { ...this.#single(field, form), ...facts?.itemBounds };
    return { ...(field.fieldKind === 'list' ? { type: 'array', items: single } : single), ...facts?.bounds };
  }

  /** A body that is a whole message, or one field of it. @param schema in place of that of the form */
  body(content: DescMessage | DescField, form: Form, schema?: Schema): Content {
    const own = () => (content.kind === 'message' ? this.message(content, form) : this.field(content, form));
    const message = content.kind === 'message' ? content : content.message;
    const examples = message && { [message.name]: { value: this.#example(message, form) } };
    return { 'application/json': { schema: schema ?? own(), examples: examples ?? {} } };
  }

  /** The fields of a message that the service assigns, by JSON name. */
  assigned(message: DescMessage): string[] {
    return message.fields.filter(isAssigned).map(({ jsonName }) => jsonName);
  }

  /** An example of a message; one to send omits the fields that the service assigns. */
  #example({ typeName, fields }: DescMessage, form: Form): JsonObject {
    const shown = fields.filter((field) => form !== 'sent' || !isAssigned(field));
    return Object.fromEntries(
      shown.flatMap(({ jsonName }) => {
        const facts = factsOf(typeName, jsonName);
        return facts === undefined ? [] : [[jsonName, facts.example]];
      }),
    );
  }

  #object(message: DescMessage, form: Form): Schema {
    const { fields } = message;
    const text = this.#comments.text(message);
    return {
      type: 'object',
      description: form === 'created' ? `${text}${IF_DRY_RUN}` : text,
      required: fields.filter((field) => isPresent(field, form)).map(({ jsonName }) => jsonName),
      properties: Object.fromEntries(fields.map((field) => [field.jsonName, this.#property(field, form)])),
      // A client must not send other properties; the service may add some later.
      ...(form === 'sent' ? { additionalProperties: false } : {}),
      examples: [this.#example(message, form)],
    };
  }

  #property(field: DescField, form: Form): Schema {
    const schema = this.field(field, form);
    return {
      ...(form === 'sent' && !isRequired(field) ? nullable(schema) : schema),
      description: this.#comments.text(field),
      ...(isAssigned(field) ? { readOnly: true } : {}),
    };
  }

  #single({ kind, name, parent, fieldKind, message, scalar }: DescField, form: Form): Schema {
    if (message?.typeName === 'google.protobuf.Timestamp') return TIMESTAMP;
    if (message !== undefined && !message.typeName.startsWith('google.')) return this.message(message, form);
    const schema = scalar && scalars[scalar];
    if (schema === undefined || fieldKind === 'map') {
      throw new Error(
        `src/openapi/message-schemas.ts has no schema for the ${kind} ${parent.typeName}.${name}.`,
      );
    }
    return schema;
  }
}

function isPresent(field: DescField, form: Form): boolean {
  if (form === 'sent') return isRequired(field);
  if (isAssigned(field)) return form === 'returned';
  return field.presence === FeatureSet_FieldPresence.IMPLICIT || isRequired(field);
}

/** ProtoJSON accepts null as the default of any field. */
function nullable(schema: Schema): Schema {
  const { type } = schema;
  return typeof type === 'string'
    ? { ...schema, type: [type, 'null'] }
    : { anyOf: [schema, { type: 'null' }] };
}
