import { create, type Message, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import {
  type DescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as FieldType,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { describe as describeContract, type OpenApi } from '../../src/openapi.js';
import { legacyDescriptorSet } from '../support/library-contract.js';
import { fulfils, library, operationOf, propertyOf, schemaOf, shop } from '../support/described.js';

const document = shop();
const bodyOf = (operationId: string) => {
  const { requestBody } = operationOf(document, operationId);
  return { required: requestBody?.required, schema: requestBody?.content['application/json']?.schema ?? {} };
};

describe('the schema of a message', () => {
  it('requires in requests what field_behavior requires, and refuses unknown fields', () => {
    expect(schemaOf(document, 'ItemInput')).toMatchObject({
      type: 'object',
      description: 'What is sold.',
      required: ['name', 'displayName'],
      additionalProperties: false,
      properties: { name: { type: 'string', description: 'Its name.' } },
    });
  });

  it('requires in responses every field without presence, and allows further ones', () => {
    expect(schemaOf(document, 'Item')['required']).toEqual([
      'name',
      'displayName',
      'etag',
      'secret',
      'price',
      'size',
    ]);
    expect(schemaOf(document, 'Item')).not.toHaveProperty('additionalProperties');
  });

  it('marks read-only, write-only and deprecated fields, and deprecated types', () => {
    expect(propertyOf(document, 'ItemInput', 'etag')).toEqual({ type: ['string', 'null'], readOnly: true });
    expect(propertyOf(document, 'Item', 'secret')).toEqual({ type: 'string', writeOnly: true });
    expect(propertyOf(document, 'Item', 'price')).toEqual({
      type: 'integer',
      format: 'int32',
      deprecated: true,
    });
    expect(schemaOf(document, 'Receipt')).toMatchObject({ deprecated: true });
    expect(schemaOf(document, 'Colour')).toMatchObject({ deprecated: true });
    expect(schemaOf(document, 'Receipt.Line')).not.toHaveProperty('deprecated');
  });

  it.each([
    [{ street: 'a' }, true],
    [{ street: 'a', person: 'b' }, true],
    [{ street: 'a', house: 1 }, false],
    [{ street: 'a', inside: { name: '', displayName: '' } }, false],
    [{ house: 1, inside: { name: '', displayName: '' } }, false],
    [{ person: 'a', company: 'b' }, false],
  ])('allows at most one member of each oneof: %j is %s', (fields, valid) => {
    const item = { name: '', displayName: '', ...fields };
    expect(fulfils(document, schemaOf(document, 'ItemInput'), item)).toBe(valid);
  });

  it('may contain itself', () => {
    expect(propertyOf(document, 'Item', 'inside')).toEqual({ $ref: '#/components/schemas/Item' });
    expect(propertyOf(document, 'FilterInput', 'all')).toEqual({
      type: ['array', 'null'],
      items: { $ref: '#/components/schemas/FilterInput' },
    });
  });

  it('has its full name if the message is from another package', () => {
    expect(schemaOf(document, 'google.protobuf.Empty')).toMatchObject({ type: 'object', properties: {} });
  });

  it('has the comments of an enum and its values', () => {
    expect(schemaOf(document, 'Size')['description']).toBe(
      'How large something is.\n\n- `SIZE_SMALL`: Fits a pocket.',
    );
    expect(propertyOf(document, 'Item', 'size')).toMatchObject({ description: 'How large it is.' });
  });

  it('requires the required fields of proto2 in requests and responses', () => {
    const legacy = describeContract({ descriptorSet: legacyDescriptorSet });
    expect(schemaOf(legacy, 'OrderInput')['required']).toEqual(['id']);
    expect(propertyOf(legacy, 'OrderInput', 'id')).toEqual({ type: 'string' });
    expect(schemaOf(legacy, 'Order')['required']).toEqual(['id', 'items', 'byName', 'tags', 'notes']);
  });
});

describe('the body of a request', () => {
  it('leaves out the fields in the path', () => {
    expect(bodyOf('updateItem')).toMatchObject({
      required: true,
      schema: { required: ['displayName'], additionalProperties: false },
    });
    expect(bodyOf('updateItem').schema['properties']).not.toHaveProperty('name');
    const whole = bodyOf('updateItem_2').schema['properties'];
    expect(whole).toMatchObject({ item: { type: ['object', 'null'], required: ['displayName'] } });
  });

  it('is optional if it is the whole message and no field of it is required', () => {
    expect(bodyOf('updateItem_2').required).toBe(false);
    expect(bodyOf('searchItems_2').required).toBe(true);
    expect(bodyOf('createItem')).toEqual({
      required: true,
      schema: { $ref: '#/components/schemas/ItemInput' },
    });
  });
});

describe('the option json', () => {
  it.each([
    [{ omit: 'defaults' }, undefined],
    [{ omit: 'unassigned' }, ['name', 'displayName', 'secret', 'price', 'size']],
    [{ protoNames: true }, ['name', 'display_name', 'etag', 'secret', 'price', 'size']],
  ] as const)('%j decides which fields responses have', (json, required) => {
    expect(schemaOf(shop({ json }), 'Item')['required']).toEqual(required);
  });

  it('allows unknown fields in requests if it ignores them', () => {
    const lenient = shop({ json: { ignoreUnknown: true } });
    expect(schemaOf(lenient, 'ItemInput')).not.toHaveProperty('additionalProperties');
  });

  it('applies proto names to parameters and comments too', () => {
    const named = shop({ json: { protoNames: true } });
    const { parameters, summary } = operationOf(named, 'createItem');
    expect(parameters).toContainEqual(expect.objectContaining({ name: 'validate_only', in: 'query' }));
    expect(summary).toContain('`display_name`');
  });
});

describe('facts', () => {
  const facts = {
    'shop.v1.Item': {
      displayName: { bounds: { maxLength: 9 }, example: 'Lamp' },
      etag: { example: 'x', present: true },
      inside: { example: { name: 'a', displayName: 'b' } },
    },
    'library.v1.Everything': {
      string_list: { itemBounds: { minLength: 1 }, bounds: { maxItems: 2 }, example: ['a'] },
    },
  };
  const known = shop({ facts: { 'shop.v1.Item': facts['shop.v1.Item'] } });

  it('add bounds and examples, by either name of a field', () => {
    expect(propertyOf(known, 'Item', 'displayName')).toEqual({ type: 'string', maxLength: 9 });
    const { 'library.v1.Everything': ofEverything } = facts;
    const other = library({ facts: { 'library.v1.Everything': ofEverything } });
    expect(propertyOf(other, 'Everything', 'stringList')).toEqual({
      type: 'array',
      items: { type: 'string', minLength: 1 },
      maxItems: 2,
    });
    expect(operationOf(other, 'echo_4').requestBody?.content['application/json']?.examples).toEqual({
      string_list: { value: ['a'] },
    });
  });

  it('make an example of a body, in requests without the fields that the service assigns', () => {
    const { requestBody, responses } = operationOf(known, 'createItem');
    const inside = { name: 'a', displayName: 'b' };
    expect(requestBody?.content['application/json']?.examples).toEqual({
      Item: { value: { displayName: 'Lamp', inside } },
    });
    expect(responses['201']).toMatchObject({
      content: {
        'application/json': { examples: { Item: { value: { displayName: 'Lamp', etag: 'x', inside } } } },
      },
    });
    expect(schemaOf(known, 'Item')['examples']).toEqual([{ displayName: 'Lamp', etag: 'x', inside }]);
  });

  it.each(['updateItem', 'updateItem_2'])(
    'make no example of what the path of a request has: the example of %s fulfils its schema',
    (id) => {
      const item = { name: 'a', displayName: 'b' };
      const named = shop({
        facts: {
          'shop.v1.Item': { name: { example: 'a' }, displayName: { example: 'b' } },
          'shop.v1.UpdateItemRequest': { item: { example: item } },
        },
      });
      const { schema = {}, examples } = operationOf(named, id).requestBody?.content['application/json'] ?? {};
      const values = Object.values(examples ?? {}).map(({ value }) => value);
      expect(values).toEqual(id === 'updateItem' ? [{ displayName: 'b' }] : []);
      expect(schema).not.toHaveProperty(['examples', 0, 'item']);
      expect(values.every((value) => fulfils(named, schema, value))).toBe(true);
    },
  );

  it('make no example of a list of messages from those of one message', () => {
    const listed = library({
      rules: [
        {
          selector: 'library.v1.Probe.Echo',
          post: '/v1/lists',
          body: 'nested_list',
          responseBody: 'nested_list',
        },
      ],
      facts: { 'library.v1.Everything': { string_value: { example: 'a' } } },
    });
    const { requestBody, responses } = operationOf(listed, 'echo');
    expect(requestBody?.content['application/json']).toEqual({
      schema: { type: 'array', items: { $ref: '#/components/schemas/EverythingInput' } },
    });
    expect(responses['200']).toMatchObject({
      content: {
        'application/json': {
          schema: { type: 'array', items: { $ref: '#/components/schemas/Everything' } },
        },
      },
    });
    expect(responses['200']).not.toHaveProperty(['content', 'application/json', 'examples']);
  });

  it('about the fields that a dry run lacks make a schema for the responses of creates', () => {
    expect(schemaOf(known, 'CreatedItem')).toMatchObject({
      description: 'What is sold. The answer to a dry run lacks the fields that the service assigns.',
      required: ['name', 'displayName', 'secret', 'price', 'size'],
    });
    expect(schemaOf(known, 'Item')['required']).toContain('etag');
    const { responses } = operationOf(known, 'createItem');
    const $ref = '#/components/schemas/CreatedItem';
    expect(responses).toMatchObject({
      200: { content: { 'application/json': { schema: { $ref } } } },
      201: { content: { 'application/json': { schema: { $ref, required: ['etag'] } } } },
    });
  });

  it.each([
    [{ 'shop.v1.Itme': {} }, 'facts: the contract has no message "shop.v1.Itme".'],
    [{ 'shop.v1.Item': { nmae: {} } }, 'facts: the message "shop.v1.Item" has no field "nmae".'],
  ])('are refused if the contract has no such message or field: %j', (wrong, sentence) => {
    expect(() => shop({ facts: wrong })).toThrow(sentence);
  });
});

type Proto = Exclude<MessageInitShape<typeof DescriptorProtoSchema>, Message>;

/** The description of a method whose request and response are the first message of the package `a`. */
function described(messageType: Proto[]): OpenApi {
  const method = [{ name: 'Call', inputType: '.a.M0', outputType: '.a.M0' }];
  const service = [{ name: 'S', method }];
  const file = [{ name: 'a.proto', package: 'a', syntax: 'proto3', messageType, service }];
  const descriptorSet = toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file }));
  const rules = [{ selector: 'a.S.Call', post: '/v1', body: '*' }];
  return describeContract({ descriptorSet, rules });
}

const fieldOf = (name: string, number: number, message: string) => ({
  name,
  jsonName: name,
  number,
  label: Label.OPTIONAL,
  type: FieldType.MESSAGE,
  typeName: `.a.${message}`,
});

const ownNames = ({ components }: OpenApi): string[] =>
  Object.keys(components.schemas).filter((name) => /^M\d/.test(name));

it('messages in a chain that is longer than the call stack all have schemas', () => {
  const count = 12_000;
  const chain = described(
    Array.from({ length: count }, (_, index) => ({
      name: `M${index}`,
      field: [fieldOf('next', 1, `M${(index + 1) % count}`)],
    })),
  );
  expect(propertyOf(chain, 'M11999', 'next')).toEqual({ $ref: '#/components/schemas/M0' });
  expect(propertyOf(chain, 'M0Input', 'next')).toMatchObject({
    anyOf: [{ $ref: '#/components/schemas/M1Input' }, { type: 'null' }],
  });
  expect(ownNames(chain)).toHaveLength(2 * count);
});

it('more messages than the call stack has room for, all at the end of a chain, have schemas', () => {
  const depth = 99;
  const count = 20_000;
  const steps = Array.from({ length: depth }, (_, index) => ({
    name: `M${index}`,
    field: [fieldOf('next', 1, `M${index + 1}`)],
  }));
  const leaves = Array.from({ length: count }, (_, index) => `M${depth + 1 + index}`);
  const last = {
    name: `M${depth}`,
    field: leaves.map((leaf, index) => fieldOf(`f${index}`, index + 1, leaf)),
  };
  const wide = described([...steps, last, ...leaves.map((name) => ({ name }))]);
  expect(ownNames(wide)).toHaveLength(2 * (depth + 1 + count));
});
