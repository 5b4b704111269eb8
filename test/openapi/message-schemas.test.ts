import { describe, expect, it } from 'vitest';
import { ContractComments } from '../../src/openapi/contract-comments.js';
import { describeService } from '../../src/openapi/document.js';
import { MessageSchemas } from '../../src/openapi/message-schemas.js';
import {
  libraryDescriptorSet,
  messageType,
} from '../../packages/transcoder/test/support/library-contract.js';
import { validatorOf } from '../support/openapi.js';

const everything = messageType('Everything');

function fieldOf(name: string) {
  const field = everything.fields.find((each) => each.name === name);
  if (field === undefined) throw new Error(`There is no field ${name}.`);
  return field;
}

describe('the schema of a field', () => {
  const schemas = new MessageSchemas(new ContractComments({}));

  it.each([
    ['double_value', { type: 'number', format: 'double' }],
    ['int32_value', { type: 'integer', format: 'int32' }],
    ['uint32_value', { type: 'integer', minimum: 0, maximum: 4_294_967_295 }],
    ['int64_value', { type: 'string', pattern: '^-?[0-9]+$' }],
    ['fixed64_value', { type: 'string', pattern: '^[0-9]+$' }],
    ['bool_value', { type: 'boolean' }],
    ['bytes_value', { type: 'string', contentEncoding: 'base64' }],
    ['genre', { type: 'string', enum: ['GENRE_UNSPECIFIED', 'GENRE_POETRY', 'GENRE_PROSE'] }],
    ['nested', { $ref: '#/components/schemas/Everything' }],
    ['int32_list', { type: 'array', items: { type: 'integer', format: 'int32' } }],
    ['string_map', { type: 'object', additionalProperties: { type: 'string' } }],
    ['nested_map', { type: 'object', additionalProperties: { $ref: '#/components/schemas/Everything' } }],
    ['time', { type: 'string', format: 'date-time' }],
    ['string_wrapper', { type: ['string', 'null'] }],
    ['value', {}],
  ])('%s is its ProtoJSON form', (name, schema) => {
    expect(schemas.field(fieldOf(name), 'returned')).toEqual(schema);
  });

  it('that may be omitted from a request accepts null', () => {
    schemas.message(everything, 'sent');
    expect(schemas.components.get('EverythingInput')?.['properties']).toMatchObject({
      stringValue: { type: ['string', 'null'] },
      nested: { anyOf: [{ $ref: '#/components/schemas/EverythingInput' }, { type: 'null' }] },
      genre: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    });
  });

  it('that is always returned is required; one with presence is not', () => {
    schemas.message(everything, 'returned');
    const required = schemas.components.get('Everything')?.['required'];
    expect(required).toEqual(expect.arrayContaining(['stringValue', 'stringList', 'stringMap', 'genre']));
    expect(required).not.toEqual(expect.arrayContaining(['nested']));
    expect(required).not.toEqual(expect.arrayContaining(['optionalString']));
  });
});

describe('the document of another contract', () => {
  const document = describeService({
    descriptorSet: libraryDescriptorSet,
    comments: {},
    scopes: {},
    realm: 'library',
  });

  it('has a path for each template, its variables by their names', () => {
    expect(Object.keys(document.paths)).toEqual(
      expect.arrayContaining(['/v1/shelves/{shelf_id}', '/v1/{parent}/books', '/v1/{name}:archive']),
    );
  });

  it('has an operation for each binding of a method', () => {
    expect(document.paths['/v1/loans/{loan.holder}']?.['put']?.operationId).toBe('createLoan');
    expect(document.paths['/v1/loans']?.['post']?.operationId).toBe('createLoan2');
  });

  it('has the field that a binding takes or returns as the body', () => {
    const { requestBody, responses } = document.paths['/v1/echo/items']?.['put'] ?? {};
    const items = { type: 'array', items: { type: 'string' } };
    expect(requestBody?.content['application/json']?.schema).toEqual(items);
    expect(responses?.['200']).toMatchObject({ content: { 'application/json': { schema: items } } });
  });

  it('has consistent schemas', () => {
    const ajv = validatorOf(document);
    const names = Object.keys(document.components.schemas);
    expect(names.map((name) => typeof ajv.getSchema(`openapi#/components/schemas/${name}`))).toEqual(
      names.map(() => 'function'),
    );
  });
});
