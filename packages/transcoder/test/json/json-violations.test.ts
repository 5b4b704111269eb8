import type { JsonValue } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { JsonViolations } from '../../src/json/json-violations.js';
import { StrictJson } from '../../src/json/json-input.js';
import { messageType, registry } from '../support/library-contract.js';
import { wrongField } from '../support/refusal.js';

const schema = messageType('Everything');
const strict = new StrictJson(registry);
const found = (json: JsonValue, path = ''): string[] =>
  [...new JsonViolations(registry).find(schema, json, path)].map(wrongField);

it('violations do not include ignored unknown fields', () => {
  const json = { noField: 1, nested: { other: {}, stringValue: 1 } };
  const violations = [...new JsonViolations(registry, { ignoreUnknown: true }).find(schema, json)];
  expect(violations.map(({ field }) => field)).toEqual(['nested.string_value']);
});

describe('the violations of a JSON value', () => {
  it.each<{ json: JsonValue; fields: string[]; why: string }>([
    { json: { stringValue: 1 }, fields: ['string_value'], why: 'a scalar has another type' },
    { json: { noField: 1, other: null }, fields: ['noField', 'other'], why: 'there are no such fields' },
    { json: { hasOwnProperty: 1 }, fields: ['hasOwnProperty'], why: 'there is no such field' },
    { json: { string_value: 'a', stringValue: 'a' }, fields: ['string_value'], why: 'both names are used' },
    {
      json: { string_value: null, stringValue: null },
      fields: ['string_value'],
      why: 'both names are used, even if empty',
    },
    { json: { firstChoice: 'a', secondChoice: 1 }, fields: ['second_choice'], why: 'a oneof takes one' },
    {
      json: { firstChoice: 'a', nullChoice: null },
      fields: ['null_choice'],
      why: 'null may be a value of a oneof',
    },
    {
      json: { genre: 'GENRE_NONE', genreList: ['GENRE_PROSE', true] },
      fields: ['genre', 'genre_list[1]'],
      why: 'an enum has other values',
    },
    {
      json: { int32Value: 2147483648, uint32Value: -1, int64Value: 1.5 },
      fields: ['int32_value', 'uint32_value', 'int64_value'],
      why: 'integers are out of bounds',
    },
    { json: { bytesValue: '*' }, fields: ['bytes_value'], why: 'the text is not base64' },
    { json: { stringList: 'a' }, fields: ['string_list'], why: 'a list is an array' },
    {
      json: { stringList: ['a', 1, null, []] },
      fields: ['string_list[1]', 'string_list[2]', 'string_list[3]'],
      why: 'items are invalid',
    },
    { json: { nested: [] }, fields: ['nested'], why: 'a message is an object' },
    {
      json: { nested: { nested: { boolValue: 'x', x: 1 } } },
      fields: ['nested.nested.bool_value', 'nested.nested.x'],
      why: 'they are nested',
    },
    {
      json: { nestedList: [{}, { boolValue: 1 }, null, 7] },
      fields: ['nested_list[1].bool_value', 'nested_list[2]', 'nested_list[3]'],
      why: 'they are in items',
    },
    { json: { stringMap: [] }, fields: ['string_map'], why: 'a map is an object' },
    {
      json: { stringMap: { a: 'b', c: 1, d: null } },
      fields: ['string_map[c]', 'string_map[d]'],
      why: 'values are invalid',
    },
    { json: { genreMap: { a: 'x' } }, fields: ['genre_map[a]'], why: 'values are not enum values' },
    {
      json: { nestedMap: { 7: { genre: 'x' } } },
      fields: ['nested_map[7].genre'],
      why: 'they are in values',
    },
    { json: { nestedMap: { x: {} } }, fields: ['nested_map[x]'], why: 'a key has another type' },
    {
      json: { time: 'now', timeList: ['2026-01-02T03:04:05Z', '2026'] },
      fields: ['time', 'time_list[1]'],
      why: 'times are RFC 3339',
    },
    { json: { timeMap: { a: 1 } }, fields: ['time_map[a]'], why: 'times are strings' },
    {
      json: { duration: '1', fieldMask: 'a_b', int64Wrapper: 'x' },
      fields: ['duration', 'field_mask', 'int64_wrapper'],
      why: 'well-known types have their own forms',
    },
    {
      json: { struct: [], listValue: {} },
      fields: ['struct', 'list_value'],
      why: 'JSON types have another kind',
    },
    {
      json: { any: { '@type': 'type.googleapis.com/nobody.Knows' } },
      fields: ['any'],
      why: 'the type is unknown',
    },
    {
      json: { any: { '@type': '/library.v1.Author', name: 1, born: 'now', x: 1 } },
      fields: ['any.name', 'any.born', 'any.x'],
      why: 'they are in an Any',
    },
    {
      json: { any: { '@type': '/google.protobuf.Timestamp', value: 'now' } },
      fields: ['any.value'],
      why: 'the value of an Any is not a time',
    },
    {
      json: { any: { '@type': '/google.protobuf.Timestamp', value: '2026-01-02T03:04:05Z', x: 1 } },
      fields: ['any'],
      why: 'an Any holds nothing besides its value',
    },
    { json: { nestedMap: { '1': {}, '01': {} } }, fields: ['nested_map[01]'], why: 'a key has one form' },
    { json: [], fields: ['*'], why: 'the value is not an object' },
    { json: null, fields: ['*'], why: 'the value is null' },
  ])('are found in $json: $why', ({ json, fields }) => {
    expect(strict.accepts(schema, json)).toBe(false);
    expect(found(json)).toEqual(fields);
  });

  it.each([
    {},
    { stringValue: null, stringList: null, stringMap: null, nested: null, time: null },
    { firstChoice: null, secondChoice: 1 },
    {
      value: null,
      struct: { a: null },
      any: { '@type': 'type.googleapis.com/library.v1.Author', name: 'a' },
    },
  ])('are none in %j', (json) => {
    expect(strict.accepts(schema, json)).toBe(true);
    expect(found(json)).toEqual([]);
  });

  it('are named relative to the given place', () => {
    expect(found({ nested: 1 }, 'book')).toEqual(['book.nested']);
    expect(found(1, 'book')).toEqual(['book']);
  });

  it.each<{ json: JsonValue; description: string }>([
    { json: { stringValue: 1 }, description: 'Must be a string; got a number.' },
    {
      json: { genre: true },
      description: 'Must be one of GENRE_UNSPECIFIED, GENRE_POETRY, GENRE_PROSE; got a boolean.',
    },
    {
      json: { int32Value: 1.5 },
      description: 'Must be a whole number from -2147483648 to 2147483647; got 1.5.',
    },
    {
      json: { genre: 'GENRE_NONE' },
      description: 'Must be one of GENRE_UNSPECIFIED, GENRE_POETRY, GENRE_PROSE; got "GENRE_NONE".',
    },
    {
      json: { time: 'noon' },
      description: 'Must be a time by RFC 3339 from year 1 to 9999; got "noon".',
    },
    {
      json: { bytesValue: `a"${'é'.repeat(100)}` },
      description: `Must be a string in base64; got "a\\"${'é'.repeat(62)}…".`,
    },
    {
      json: { int64Wrapper: '1.5' },
      description: 'Must be a whole number from -9223372036854775808 to 9223372036854775807; got "1.5".',
    },
    {
      json: { any: { '@type': 'no.such.Type' } },
      description:
        'Must be an object with "@type" of a known message and its JSON form, or of another one and its bytes in base64 as "value"; got another object.',
    },
    { json: { stringList: {} }, description: 'Must be an array; got an object.' },
    { json: { nestedList: [null] }, description: 'Must be an object; got null.' },
    { json: { boolWrapper: 'true' }, description: 'Must be true or false; got a string.' },
    {
      json: { firstChoice: 'a', secondChoice: 1 },
      description: 'Must be given without "firstChoice"; got both.',
    },
    {
      json: { nestedMap: { x: {} } },
      description: 'Must have a whole number from -2147483648 to 2147483647 as its key; got "x".',
    },
  ])('say what is allowed, then what came: $json', ({ json, description }) => {
    expect([...new JsonViolations(registry).find(schema, json)]).toMatchObject([{ description }]);
  });
});
