import {
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence, isWrapperDesc } from '@bufbuild/protobuf/wkt';
import { FieldBehavior, hasBehavior } from '@route-registry/transcoder/description';
import type { ContractComments } from './contract-comments.js';
import { factsOf } from './field-facts.js';
import type { Schema } from './open-api.js';

/**
 * The three forms of a message: as a client sends it, as the service returns it, and as a create returns it, whose dry
 * run omits the fields that the service assigns.
 */
export type Form = 'sent' | 'returned' | 'created';

const WHOLE_32 = { type: 'integer', format: 'int32' };
const UNSIGNED_32 = { type: 'integer', minimum: 0, maximum: 4_294_967_295 };
// As text, since JavaScript's numbers have too few bits.
const WHOLE_64 = { type: 'string', pattern: '^-?[0-9]+$' };
const UNSIGNED_64 = { type: 'string', pattern: '^[0-9]+$' };

const scalars = {
  [ScalarType.DOUBLE]: { type: 'number', format: 'double' },
  [ScalarType.FLOAT]: { type: 'number', format: 'float' },
  [ScalarType.INT32]: WHOLE_32,
  [ScalarType.SINT32]: WHOLE_32,
  [ScalarType.SFIXED32]: WHOLE_32,
  [ScalarType.UINT32]: UNSIGNED_32,
  [ScalarType.FIXED32]: UNSIGNED_32,
  [ScalarType.INT64]: WHOLE_64,
  [ScalarType.SINT64]: WHOLE_64,
  [ScalarType.SFIXED64]: WHOLE_64,
  [ScalarType.UINT64]: UNSIGNED_64,
  [ScalarType.FIXED64]: UNSIGNED_64,
  [ScalarType.BOOL]: { type: 'boolean' },
  [ScalarType.STRING]: { type: 'string' },
  [ScalarType.BYTES]: { type: 'string', contentEncoding: 'base64' },
} as const satisfies Record<ScalarType, Schema>;

/** The well-known types whose ProtoJSON form is not an object of their fields. */
const wellKnown: Readonly<Record<string, Schema>> = {
  'google.protobuf.Timestamp': { type: 'string', format: 'date-time' },
  'google.protobuf.Duration': { type: 'string', pattern: '^-?[0-9]+(?:\\.[0-9]{1,9})?s$' },
  'google.protobuf.FieldMask': { type: 'string' },
  'google.protobuf.Any': {
    type: 'object',
    required: ['@type'],
    properties: { '@type': { type: 'string' } },
  },
  'google.protobuf.Struct': { type: 'object' },
  'google.protobuf.ListValue': { type: 'array', items: {} },
  'google.protobuf.Value': {},
};

const IF_DRY_RUN = ' The answer to a dry run lacks the fields that the service assigns.';

/** The JSON Schemas of a contract's messages, from the rules of ProtoJSON and the bounds of the domain. */
export class MessageSchemas {
  /** The schemas that were requested, and those that they refer to, by name. */
  readonly components = new Map<string, Schema>();
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
    if (!this.components.has(name)) {
      // Added before it is complete, since a message may contain itself.
      this.components.set(name, {});
      this.components.set(name, this.#object(message, form));
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  /** The schema of a field's value, with the domain's bounds. */
  field(field: DescField, form: Form): Schema {
    const facts = factsOf(field.parent.typeName, field.jsonName);
    const single = { ...this.#single(field, form), ...facts?.itemBounds };
    switch (field.fieldKind) {
      case 'list':
        return { type: 'array', items: single, ...facts?.bounds };
      case 'map':
        return { type: 'object', additionalProperties: single, ...facts?.bounds };
      case 'scalar':
      case 'enum':
      case 'message':
        return { ...single, ...facts?.bounds };
    }
  }

  /** The schema of a field as a parameter: an omitted parameter has the default value. */
  parameter(field: DescField): Schema {
    const schema = this.field(field, 'sent');
    const isFlag = field.fieldKind === 'scalar' && field.scalar === ScalarType.BOOL;
    return isFlag ? { ...schema, default: false } : schema;
  }

  /** The fields of a message that the service assigns, by JSON name. */
  assigned(message: DescMessage): string[] {
    return message.fields.filter((field) => this.#isAssigned(field)).map(({ jsonName }) => jsonName);
  }

  /** An example of a message; one to send omits the fields that the service assigns. */
  example(message: DescMessage, form: Form): JsonObject {
    const fields = message.fields.filter((field) => form !== 'sent' || !this.#isAssigned(field));
    const values = fields.map((field): [string, JsonValue | undefined] => [
      field.jsonName,
      factsOf(message.typeName, field.jsonName)?.example,
    ]);
    return Object.fromEntries(values.filter((entry): entry is [string, JsonValue] => entry[1] !== undefined));
  }

  #object(message: DescMessage, form: Form): Schema {
    const { fields } = message;
    const text = this.#comments.text(message);
    return {
      type: 'object',
      description: form === 'created' ? `${text}${IF_DRY_RUN}` : text,
      required: fields.filter((field) => this.#isPresent(field, form)).map(({ jsonName }) => jsonName),
      properties: Object.fromEntries(fields.map((field) => [field.jsonName, this.#property(field, form)])),
      // A client must not send other properties; the service may add some later.
      ...(form === 'sent' ? { additionalProperties: false } : {}),
      examples: [this.example(message, form)],
    };
  }

  #isAssigned(field: DescField): boolean {
    return hasBehavior(field, FieldBehavior.OUTPUT_ONLY);
  }

  #isRequired(field: DescField): boolean {
    return hasBehavior(field, FieldBehavior.REQUIRED);
  }

  #isPresent(field: DescField, form: Form): boolean {
    if (form === 'sent') return this.#isRequired(field);
    if (this.#isAssigned(field)) return form === 'returned';
    return field.presence === FeatureSet_FieldPresence.IMPLICIT || this.#isRequired(field);
  }

  #property(field: DescField, form: Form): Schema {
    const schema = this.field(field, form);
    return {
      ...(form === 'sent' && !this.#isRequired(field) ? nullable(schema) : schema),
      description: this.#comments.text(field),
      ...(this.#isAssigned(field) ? { readOnly: true } : {}),
    };
  }

  #single(field: DescField, form: Form): Schema {
    if (field.enum !== undefined) return { type: 'string', enum: field.enum.values.map(({ name }) => name) };
    if (field.message === undefined) return scalars[field.scalar];
    if (isWrapperDesc(field.message)) return nullable(this.#single(field.message.fields[0], form));
    return wellKnown[field.message.typeName] ?? this.message(field.message, form);
  }
}

/** ProtoJSON accepts null as the default of any field. */
function nullable(schema: Schema): Schema {
  const { type } = schema;
  const isPlain = typeof type === 'string' && !('enum' in schema);
  return isPlain ? { ...schema, type: [type, 'null'] } : { anyOf: [schema, { type: 'null' }] };
}
