import { create, fromJson, type JsonValue, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { JsonOutput } from '../../src/json/json-output.js';
import { firstOf, messageType, registry, typeOf } from '../support/library-contract.js';

const output = new JsonOutput(registry, { omit: 'unassigned', milliseconds: true });

/** The JSON output of the message with the given JSON form. */
function written(json: JsonValue, type = 'library.v1.Everything', by = output): JsonValue {
  const schema = typeOf(type);
  return by.json(schema, fromJson(schema, json, { registry }));
}

const WHOLE = '2026-01-02T03:04:05Z';
const DECIMALS = '2026-01-02T03:04:05.000Z';

describe('the JSON form of a message', () => {
  it('has every field without presence, in the order of their numbers', () => {
    const schema = messageType('Book');
    const book = output.json(schema, fromJson(schema, { title: 'T' }));
    expect(JSON.stringify(book)).toBe('{"name":"","title":"T","authors":[]}');
  });

  it.each([
    { field: 'stringMap', value: { b: 'x', a: 'y' }, text: '{"a":"y","b":"x"}' },
    { field: 'genreMap', value: { b: 0, a: 0 }, text: '{"a":"GENRE_UNSPECIFIED","b":"GENRE_UNSPECIFIED"}' },
    { field: 'timeMap', value: { b: WHOLE, a: WHOLE }, text: `{"a":"${WHOLE}","b":"${WHOLE}"}` },
    { field: 'struct', value: { b: [{ d: 1, c: 2 }], a: null }, text: '{"a":null,"b":[{"c":2,"d":1}]}' },
    { field: 'value', value: { b: 1, a: { d: 1, c: 2 } }, text: '{"a":{"c":2,"d":1},"b":1}' },
    { field: 'listValue', value: [{ b: 1, a: 2 }], text: '[{"a":2,"b":1}]' },
  ])('has the keys of $field in order, whatever their order in the input', ({ field, value, text }) => {
    const plain = new JsonOutput(registry, { omit: 'defaults' });
    expect(JSON.stringify(written({ [field]: value }, undefined, plain))).toBe(`{"${field}":${text}}`);
  });

  it.each([0.1, -0.3, 16777216, 3.4028235e38, 1.4e-45, 123456.79, 0.33333334, 'NaN'])(
    'has as many digits as a float needs, not those of a double: %s',
    (float) => {
      const json = { floatValue: float, floatWrapper: float };
      expect(written(json)).toMatchObject(json);
    },
  );

  it('omits unset fields with presence', () => {
    expect(written({})).not.toHaveProperty('nested');
    expect(written({})).not.toHaveProperty('optionalString');
    expect(written({})).not.toHaveProperty('firstChoice');
    expect(written({})).not.toHaveProperty('time');
  });

  it.each([
    ['whole seconds', { time: WHOLE }, { time: DECIMALS }],
    ['milliseconds', { time: '2026-01-02T03:04:05.120Z' }, { time: '2026-01-02T03:04:05.120Z' }],
    ['microseconds', { time: '2026-01-02T03:04:05.000001Z' }, { time: '2026-01-02T03:04:05.000001Z' }],
    ['the first second', { time: '0001-01-01T00:00:00Z' }, { time: '0001-01-01T00:00:00.000Z' }],
    ['in a list', { timeList: [WHOLE, WHOLE] }, { timeList: [DECIMALS, DECIMALS] }],
    [
      'in a map',
      { timeMap: { a: WHOLE, __proto__x: WHOLE } },
      { timeMap: { a: DECIMALS, __proto__x: DECIMALS } },
    ],
    ['in messages', { nested: { nested: { time: WHOLE } } }, { nested: { nested: { time: DECIMALS } } }],
    ['in listed messages', { nestedList: [{ time: WHOLE }] }, { nestedList: [{ time: DECIMALS }] }],
    ['in mapped messages', { nestedMap: { 1: { time: WHOLE } } }, { nestedMap: { 1: { time: DECIMALS } } }],
    [
      'in a oneof',
      { thirdChoice: { name: 'a', born: WHOLE } },
      { thirdChoice: { name: 'a', born: DECIMALS } },
    ],
    [
      'in an Any',
      { any: { '@type': 'type.googleapis.com/library.v1.Author', name: '', born: WHOLE } },
      { any: { '@type': 'type.googleapis.com/library.v1.Author', name: '', born: DECIMALS } },
    ],
    [
      'as an Any',
      { any: { '@type': 'type.googleapis.com/google.protobuf.Timestamp', value: WHOLE } },
      { any: { '@type': 'type.googleapis.com/google.protobuf.Timestamp', value: DECIMALS } },
    ],
  ])('has times with at least three decimals: %s', (_, json, form) => {
    expect(written(json)).toMatchObject(form);
  });

  it.each([
    {
      json: {
        duration: '1s',
        fieldMask: 'a,b',
        int64Wrapper: '7',
        struct: { at: WHOLE },
        value: null,
        any: {},
      },
      why: 'well-known types',
    },
    { json: { stringValue: WHOLE, stringMap: { at: WHOLE } }, why: 'text that looks like a time' },
  ])('leaves $why unchanged', ({ json }) => {
    expect(written(json)).toMatchObject(json);
  });

  it('may be that of a well-known type', () => {
    expect(written(WHOLE, 'google.protobuf.Timestamp')).toBe(DECIMALS);
    expect(written('1s', 'google.protobuf.Duration')).toBe('1s');
  });

  it('may have fields of any name', () => {
    const named = { constructor: { time: WHOLE }, toString: ['a'], valueOf: 'b' };
    expect(written(named)).toMatchObject({ ...named, constructor: { time: DECIMALS } });
    expect(Object.keys(written({}) as object)).not.toContain('constructor');
  });

  it('has unset fields, and times in their ProtoJSON form, by default', () => {
    const form = { time: WHOLE, assignedText: '', stringValue: '', int32List: [], boolValue: false };
    expect(written({ time: WHOLE }, undefined, new JsonOutput(registry))).toMatchObject(form);
  });

  it('may omit defaults, except of set fields with presence or in a oneof', () => {
    const sparse = new JsonOutput(registry, { omit: 'defaults', milliseconds: true });
    const set = { optionalString: '', secondChoice: 0, nested: {}, nestedList: [{}], time: DECIMALS };
    expect(written({ ...set, stringValue: '', genre: 0, stringList: [] }, undefined, sparse)).toEqual(set);
  });

  it('may have proto names', () => {
    const named = new JsonOutput(registry, { protoNames: true, omit: 'unassigned', milliseconds: true });
    const json = { timeList: [WHOLE], Odd: 'a', nested: { timeMap: { someKey: WHOLE } } };
    const form = { time_list: [DECIMALS], odd_name: 'a', nested: { time_map: { someKey: DECIMALS } } };
    const got = written(json, undefined, named);
    expect(got).toMatchObject(form);
    expect(got).not.toHaveProperty('assigned_text');
  });

  it.each([
    { omit: 'nothing', field: 'string_value', form: '' },
    { omit: 'defaults', field: 'string_value', form: '' },
    { omit: 'defaults', field: 'string_list', form: [] },
    { omit: 'unassigned', field: 'assigned_text', form: '' },
    { omit: 'defaults', field: 'nested', form: null },
    { omit: 'nothing', field: 'nested', form: null },
  ] as const)('is the default for $field alone, even with omit: $omit', ({ omit, field: name, form }) => {
    const schema = messageType('Everything');
    const field = firstOf(schema.fields.filter((candidate) => candidate.name === name));
    const by = new JsonOutput(registry, { omit, protoNames: true });
    expect(by.fieldJson(field, fromJson(schema, {}))).toEqual(form);
  });

  it('omits fields that the service assigns but has not assigned', () => {
    expect(written({})).not.toHaveProperty('assignedText');
    expect(written({ nested: {} })).not.toHaveProperty('nested.assignedText');
    expect(written({ assignedText: 'a' })).toMatchObject({ assignedText: 'a', assignedNumber: 0 });
    expect(written({ assignedOptional: '' })).toMatchObject({ assignedOptional: '' });
  });
});

describe('an Any', () => {
  const schema = messageType('Everything');
  const PREFIX = 'type.googleapis.com';
  const EVERYTHING = `${PREFIX}/library.v1.Everything`;
  const sparse = new JsonOutput(registry, { omit: 'defaults' });

  it.each([
    { '@type': EVERYTHING, stringValue: 'a', any: { '@type': EVERYTHING, int32Value: 1 } },
    { '@type': `${PREFIX}/library.v1.Book`, title: 'T' },
    { '@type': `${PREFIX}/google.protobuf.Timestamp`, value: WHOLE },
    { '@type': `${PREFIX}/google.protobuf.BytesValue`, value: 'AQID' },
    {},
  ])('has its type first: %j', (any) => {
    const json = { nested: { any }, any };
    expect(sparse.text(schema, fromJson(schema, json, { registry }))).toBe(JSON.stringify(json));
  });

  const TYPE = `${PREFIX}/nobody.Knows`;
  const unknown = () => create(AnySchema, { typeUrl: TYPE, value: Buffer.from([1, 2, 3]) });
  const holder = () => create(schema, { any: unknown(), stringValue: 'a' });
  const form = { '@type': TYPE, value: 'AQID' };
  const held = { any: form, stringValue: 'a' };

  it.each<[where: string, fields: () => MessageInitShape<typeof schema>, json: JsonValue]>([
    ['a field', () => ({ any: unknown() }), { any: form }],
    ['a message', () => ({ nested: holder() }), { nested: held }],
    ['a list', () => ({ nestedList: [holder()] }), { nestedList: [held] }],
    ['a map', () => ({ nestedMap: { 7: holder() } }), { nestedMap: { 7: held } }],
    [
      'an Any',
      () => ({ any: create(AnySchema, { typeUrl: EVERYTHING, value: toBinary(schema, holder()) }) }),
      { any: { '@type': EVERYTHING, ...held } },
    ],
  ])('of an unknown type in %s has its bytes in base64, and is reported', (_, fields, json) => {
    const reported: string[] = [];
    const reporting = new JsonOutput(registry, { omit: 'defaults' }, (typeUrl) => reported.push(typeUrl));
    expect(JSON.parse(reporting.text(schema, create(schema, fields())))).toEqual(json);
    expect(reported).toEqual([TYPE]);
  });
});
