import { describe, expect, it } from 'vitest';
import { fulfils, library, operationOf, propertyOf, schemaOf } from '../support/described.js';

const document = library();
const bare = library({ json: { omit: 'defaults' } });
const INT64 = { type: 'string', pattern: '^-?[0-9]+$', examples: ['1'] };
const UINT64 = { type: 'string', pattern: '^[0-9]+$', examples: ['1'] };
const UINT32 = { type: 'integer', minimum: 0, maximum: 4294967295 };
const INT32 = { type: 'integer', format: 'int32' };
const TIME = { type: 'string', format: 'date-time' };
const BYTES = { type: 'string', contentEncoding: 'base64' };
const NOT_FINITE = { type: 'string', enum: ['NaN', 'Infinity', '-Infinity'] };
const EVERYTHING = { $ref: '#/components/schemas/Everything' };
const GENRE = { $ref: '#/components/schemas/Genre' };

describe('the schema of a returned field', () => {
  it.each([
    ['doubleValue', { oneOf: [{ type: 'number', format: 'double' }, NOT_FINITE] }],
    ['floatValue', { oneOf: [{ type: 'number', format: 'float' }, NOT_FINITE] }],
    ['int32Value', INT32],
    ['sint32Value', INT32],
    ['sfixed32Value', INT32],
    ['uint32Value', UINT32],
    ['fixed32Value', UINT32],
    ['int64Value', INT64],
    ['sint64Value', INT64],
    ['sfixed64Value', INT64],
    ['uint64Value', UINT64],
    ['fixed64Value', UINT64],
    ['boolValue', { type: 'boolean' }],
    ['stringValue', { type: 'string' }],
    ['bytesValue', BYTES],
    ['genre', GENRE],
    ['nested', EVERYTHING],
    ['stringList', { type: 'array', items: { type: 'string' } }],
    ['nestedList', { type: 'array', items: EVERYTHING }],
    ['stringMap', { type: 'object', additionalProperties: { type: 'string' } }],
    ['nestedMap', { type: 'object', propertyNames: INT64, additionalProperties: EVERYTHING }],
    ['nullChoice', { type: 'null' }],
    ['time', TIME],
    ['duration', { type: 'string', pattern: '^-?[0-9]+(\\.[0-9]{1,9})?s$' }],
    ['fieldMask', { type: 'string' }],
    ['stringWrapper', { type: 'string' }],
    ['int64Wrapper', INT64],
    ['struct', { type: 'object', additionalProperties: true }],
    ['value', {}],
    ['listValue', { type: 'array', items: {} }],
    ['any', { type: 'object', properties: { '@type': { type: 'string' } }, additionalProperties: true }],
    ['Odd', { type: 'string' }],
  ])('%s describes its ProtoJSON form', (name, schema) => {
    expect(propertyOf(document, 'Everything', name)).toEqual(schema);
  });

  it.each([
    ['doubleValue', [1.5, 'NaN', '-Infinity'], ['1.5', null]],
    ['int64Value', ['12', '-1'], [12, '1.5']],
    ['uint64Value', ['12'], ['-1']],
    ['duration', ['1s', '-0.5s'], ['1', '1m']],
    ['nestedMap', [{ 7: {} }], [{ seven: {} }, { 7: 1 }]],
    ['value', [null, 1, 'a', [], {}], []],
    ['any', [{}, { '@type': 'a', b: 1 }], [{ '@type': 1 }, 'a']],
  ])('%s accepts valid values and no others', (name, good, bad) => {
    const schema = propertyOf(bare, 'Everything', name) ?? {};
    const takes = (value: unknown): boolean => fulfils(bare, schema, value);
    expect([...good.map(takes), ...bad.map(takes)]).toEqual([
      ...good.map(() => true),
      ...bad.map(() => false),
    ]);
  });

  it('lists the names of an enum', () => {
    expect(schemaOf(document, 'Genre')).toEqual({
      type: 'string',
      enum: ['GENRE_UNSPECIFIED', 'GENRE_POETRY', 'GENRE_PROSE'],
    });
  });
});

describe('the schema of a sent field', () => {
  it.each([
    ['stringValue', { type: ['string', 'null'] }],
    ['stringMap', { type: ['object', 'null'], additionalProperties: { type: 'string' } }],
    ['genre', { anyOf: [GENRE, { type: 'null' }] }],
    ['nested', { anyOf: [{ $ref: '#/components/schemas/EverythingInput' }, { type: 'null' }] }],
    ['value', {}],
    ['nullValue', { type: 'null' }],
  ])('%s accepts null for an absent field', (name, schema) => {
    expect(propertyOf(document, 'EverythingInput', name)).toEqual(schema);
  });
});

describe('the schema of a body', () => {
  const contentOf = (operationId: string, status: number): unknown =>
    operationOf(document, operationId).responses[String(status)];

  it('is the JSON form of a message that has its own', () => {
    const { requestBody, responses } = operationOf(document, 'echoTime');
    expect(requestBody).toEqual({
      required: true,
      description: expect.stringContaining('A Timestamp represents') as string,
      content: { 'application/json': { schema: TIME } },
    });
    expect(responses['200']).toMatchObject({ content: { 'application/json': { schema: TIME } } });
  });

  it('is the value of a single field, or null for an unset message', () => {
    expect(contentOf('echo_4', 200)).toMatchObject({
      content: { 'application/json': { schema: { type: 'array', items: { type: 'string' } } } },
    });
    expect(contentOf('echo_3', 200)).toMatchObject({
      content: { 'application/json': { schema: { anyOf: [EVERYTHING, { type: 'null' }] } } },
    });
    expect(operationOf(document, 'echo_6').requestBody).toEqual({
      required: true,
      content: { 'application/json': { schema: { type: 'string' } } },
    });
  });
});
