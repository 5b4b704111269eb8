import type { JsonValue } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { StrictJson } from '../../src/json/json-input.js';
import { parseJsonText } from '../../src/json/json-text.js';
import { Violations } from '../../src/json/violations.js';
import { messageType, registry } from '../support/library-contract.js';
import { wrongField } from '../support/refusal.js';

const schema = messageType('Everything');

function violations(json: JsonValue, options = {}): Violations {
  const found = new Violations();
  new StrictJson(registry, options).readMessage(schema, json, found);
  return found;
}
const found = (json: JsonValue): string[] => [...violations(json)].map(wrongField);

it('violations do not include ignored unknown fields', () => {
  const json = { noField: 1, nested: { other: {}, stringValue: 1 } };
  expect([...violations(json, { ignoreUnknown: true })].map(({ field }) => field)).toEqual([
    'nested.string_value',
  ]);
});

describe('the violations of a JSON value', () => {
  it.each<[json: JsonValue, why: string, fields: string[]]>([
    [{ stringValue: 1 }, 'a scalar has another type', ['string_value']],
    [{ noField: 1, other: null }, 'there are no such fields', ['noField', 'other']],
    [{ hasOwnProperty: 1 }, 'there is no such field', ['hasOwnProperty']],
    [{ string_value: 'a', stringValue: 'a' }, 'both names are used', ['string_value']],
    [{ string_value: null, stringValue: null }, 'both names are used, even if empty', ['string_value']],
    [{ firstChoice: 'a', secondChoice: 1 }, 'a oneof takes one', ['second_choice']],
    [{ firstChoice: 'a', nullChoice: null }, 'null may be a value of a oneof', ['null_choice']],
    [
      { genre: 'GENRE_NONE', genreList: ['GENRE_PROSE', true] },
      'an enum has other values',
      ['genre', 'genre_list[1]'],
    ],
    [
      { int32Value: 2147483648, uint32Value: -1, int64Value: 1.5 },
      'integers are out of bounds',
      ['int32_value', 'uint32_value', 'int64_value'],
    ],
    [{ bytesValue: '*' }, 'the text is not base64', ['bytes_value']],
    [{ stringList: 'a' }, 'a list is an array', ['string_list']],
    [
      { stringList: ['a', 1, null, []] },
      'items are invalid',
      ['string_list[1]', 'string_list[2]', 'string_list[3]'],
    ],
    [{ nested: [] }, 'a message is an object', ['nested']],
    [
      { nested: { nested: { boolValue: 'x', x: 1 } } },
      'they are nested',
      ['nested.nested.bool_value', 'nested.nested.x'],
    ],
    [
      { nestedList: [{}, { boolValue: 1 }, null, 7] },
      'they are in items',
      ['nested_list[1].bool_value', 'nested_list[2]', 'nested_list[3]'],
    ],
    [{ stringMap: [] }, 'a map is an object', ['string_map']],
    [{ stringMap: { a: 'b', c: 1, d: null } }, 'values are invalid', ['string_map[c]', 'string_map[d]']],
    [{ genreMap: { a: 'x' } }, 'values are not enum values', ['genre_map[a]']],
    [{ nestedMap: { 7: { genre: 'x' } } }, 'they are in values', ['nested_map[7].genre']],
    [{ nestedMap: { x: {} } }, 'a key has another type', ['nested_map[x]']],
    [
      { time: 'now', timeList: ['2026-01-02T03:04:05Z', '2026'] },
      'times are RFC 3339',
      ['time', 'time_list[1]'],
    ],
    [{ timeMap: { a: 1 } }, 'times are strings', ['time_map[a]']],
    [
      { duration: '1', fieldMask: 'a_b', int64Wrapper: 'x' },
      'well-known types have their own forms',
      ['duration', 'field_mask', 'int64_wrapper'],
    ],
    [{ struct: [], listValue: {} }, 'JSON types have another kind', ['struct', 'list_value']],
    [{ any: { '@type': 'type.googleapis.com/nobody.Knows' } }, 'the type is unknown', ['any']],
    [
      { any: { '@type': '/library.v1.Author', name: 1, born: 'now', x: 1 } },
      'they are in an Any',
      ['any.name', 'any.born', 'any.x'],
    ],
    [
      { any: { '@type': '/google.protobuf.Timestamp', value: 'now' } },
      'the value of an Any is not a time',
      ['any.value'],
    ],
    [
      { any: { '@type': '/google.protobuf.Timestamp', value: '2026-01-02T03:04:05Z', x: 1 } },
      'an Any holds nothing besides its value',
      ['any'],
    ],
    [{ nestedMap: { '1': {}, '01': {} } }, 'a key has one form', ['nested_map[01]']],
    [[], 'the value is not an object', ['*']],
    [null, 'the value is null', ['*']],
  ])('are found in %j: %s', (json, _, fields) => {
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
    expect(found(json)).toEqual([]);
  });

  it.each<[json: JsonValue, description: string]>([
    [{ stringValue: 1 }, 'Must be a string; got a number.'],
    [{ genre: true }, 'Must be one of GENRE_UNSPECIFIED, GENRE_POETRY, GENRE_PROSE; got a boolean.'],
    [{ int32Value: 1.5 }, 'Must be a whole number from -2147483648 to 2147483647; got 1.5.'],
    [
      { genre: 'GENRE_NONE' },
      'Must be one of GENRE_UNSPECIFIED, GENRE_POETRY, GENRE_PROSE; got "GENRE_NONE".',
    ],
    [{ time: 'noon' }, 'Must be a time by RFC 3339 from year 1 to 9999; got "noon".'],
    [{ bytesValue: `a"${'é'.repeat(100)}` }, `Must be a string in base64; got "a\\"${'é'.repeat(62)}…".`],
    [
      { int64Wrapper: '1.5' },
      'Must be a whole number from -9223372036854775808 to 9223372036854775807; got "1.5".',
    ],
    [
      { any: { '@type': 'no.such.Type' } },
      'Must be an object with "@type" of a known message and its JSON form, or of another one and its bytes in base64 as "value"; got another object.',
    ],
    [{ stringList: {} }, 'Must be an array; got an object.'],
    [{ nestedList: [null] }, 'Must be an object; got null.'],
    [{ boolWrapper: 'true' }, 'Must be true or false; got a string.'],
    [{ firstChoice: 'a', secondChoice: 1 }, 'Must be given without "firstChoice"; got both.'],
    [
      { nestedMap: { x: {} } },
      'Must have a whole number from -2147483648 to 2147483647 as its key; got "x".',
    ],
  ])('say what is allowed, then what came: %j', (json, description) => {
    expect([...violations(json)]).toMatchObject([{ description }]);
  });
});

describe('the mistakes of a text', () => {
  const inText = (text: string, options = {}): string[] => {
    const violations = new Violations();
    new StrictJson(registry, options).readMessage(schema, parseJsonText(Buffer.from(text)), violations);
    return [...violations].map(({ field, description }) => `${field}: ${description}`);
  };

  it('are listed beside those of fields, in the order of the text', () => {
    expect(inText('{"int32Value":"x","stringValue":"\\ud800","int32List":"\\ud800","a":1,"a":2}')).toEqual([
      'int32_value: Must be a whole number from -2147483648 to 2147483647; got "x".',
      'string_value: Must have only whole characters; got half of a surrogate pair.',
      'int32_list: Must have only whole characters; got half of a surrogate pair.',
      'a: Must be given once; got it again.',
    ]);
  });

  it('do not include a long number, which may be of the wrong kind', () => {
    expect(
      inText('{"stringValue":1e21,"bytesValue":1,"stringList":1e21,"floatValue":1e2,"doubleValue":1.5}'),
    ).toEqual([
      'string_value: Must be a string; got a number.',
      'bytes_value: Must be a string in base64; got a number.',
      'string_list: Must be an array; got a number.',
    ]);
  });

  it('are found in fields that are ignored', () => {
    const text = '{"noField":{"a":[1,1e400],"b":1e3,"c":"\\ud800"}}';
    expect(inText(text, { ignoreUnknown: true })).toEqual([
      'noField.a[1]: Must be a number within double precision; got 1e400.',
      'noField.c: Must have only whole characters; got half of a surrogate pair.',
    ]);
  });

  it.each([
    ['fields', (many: string) => `{${many.replaceAll('"k', '"noField')}}`],
    ['the entries of a map', (many: string) => `{"stringMap":{${many}}}`],
    ['the members of a Struct', (many: string) => `{"struct":{${many}}}`],
    ['the items of a list', (many: string) => `{"stringList":[${many.replaceAll(/"k[0-9]+":/g, '')}]}`],
    ['the items of a Value', (many: string) => `{"value":[${many.replaceAll(/"k[0-9]+":/g, '')}]}`],
  ])('are as many as a response shows, although more are in %s', (_, whole) => {
    const many = Array.from({ length: 150 }, (_item, index) => `"k${index}":1e400`).join();
    expect(inText(whole(many))).toHaveLength(100);
    expect(inText(`{"noField":${whole(many)}}`, { ignoreUnknown: true })).toHaveLength(100);
  });
});
