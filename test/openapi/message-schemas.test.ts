import { describe, expect, it } from 'vitest';
import { ContractComments } from '../../src/openapi/contract-comments.js';
import { MessageSchemas } from '../../src/openapi/message-schemas.js';
import { messageType } from '../../packages/transcoder/test/support/library-contract.js';

const everything = messageType('Everything');

function fieldOf(name: string) {
  const field = everything.fields.find((each) => each.name === name);
  if (field === undefined) throw new Error(`There is no field ${name}.`);
  return field;
}

describe('the schema of a field', () => {
  const schemas = new MessageSchemas(new ContractComments({}));

  it.each([
    ['string_value', { type: 'string' }],
    ['int32_value', { type: 'integer', format: 'int32' }],
    ['int64_value', { type: 'string', pattern: '^-?[0-9]+$' }],
    ['bool_value', { type: 'boolean' }],
    ['int32_list', { type: 'array', items: { type: 'integer', format: 'int32' } }],
    ['time', { type: 'string', format: 'date-time' }],
    ['time_list', { type: 'array', items: { type: 'string', format: 'date-time' } }],
  ])('%s is its ProtoJSON form', (name, schema) => {
    expect(schemas.field(fieldOf(name), 'returned')).toEqual(schema);
  });

  it.each(['genre', 'bytes_value', 'string_map', 'string_wrapper', 'value'])(
    'of a type that the contract does not have stops the generator: %s',
    (name) => {
      expect(() => schemas.field(fieldOf(name), 'returned')).toThrow(
        `src/openapi/message-schemas.ts has no schema for the field library.v1.Everything.${name}.`,
      );
    },
  );

  it('that may be omitted from a request accepts null', () => {
    schemas.message(messageType('CreateBookRequest'), 'sent');
    expect(schemas.components).toMatchObject({
      CreateBookRequestInput: {
        properties: {
          parent: { type: ['string', 'null'] },
          book: { anyOf: [{ $ref: '#/components/schemas/BookInput' }, { type: 'null' }] },
        },
      },
    });
  });

  it('that is always returned is required; one with presence is not', () => {
    schemas.message(messageType('CreateBookRequest'), 'returned');
    expect(schemas.components['CreateBookRequest']?.['required']).toEqual(['parent', 'bookId']);
  });
});
