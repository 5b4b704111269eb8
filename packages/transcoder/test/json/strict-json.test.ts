import { fromBinary, toBinary, toJson, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { StrictJson } from '../../src/json/json-input.js';
import { Violations } from '../../src/json/violations.js';
import { MAX_DEPTH } from '../../src/json/json-parser.js';
import { messageType, registry } from '../support/library-contract.js';

const schema = messageType('Everything');
const strict = new StrictJson(registry);

function accepts(json: JsonValue): boolean {
  const found = new Violations();
  strict.readMessage(schema, json, found);
  return found.count === 0;
}

/** The message in JSON after a round trip through its binary form, like a request and its response. */
const roundTrip = (json: JsonValue): JsonValue =>
  toJson(schema, fromBinary(schema, toBinary(schema, strict.read(schema, json))), { registry });

const anyOf = (typeName: string, content: JsonObject): JsonObject => ({
  any: { '@type': `type.googleapis.com/${typeName}`, ...content },
});

describe('strict ProtoJSON', () => {
  it.each<[json: JsonObject, why: string, message: JsonObject]>([
    [{ int32Value: '1e5' }, 'a number may have an exponent', { int32Value: 100000 }],
    [{ int32Value: 100000.0 }, 'an integer may have a zero fraction', { int32Value: 100000 }],
    [{ int32_value: '-15.00E-0' }, 'a string may have both', { int32Value: -15 }],
    [{ int32Value: '-0.00e9', boolValue: true }, 'every form of zero is zero', { boolValue: true }],
    [{ int32Value: '-2147483648' }, 'it is the smallest integer', { int32Value: -2147483648 }],
    [{ fixed32Value: '4.294967295e9' }, 'it is the largest integer', { fixed32Value: 4294967295 }],
    [
      { int64Value: '1.5e1', sint64Value: '-9223372036854775808', uint64Value: '18446744073709551615' },
      '64-bit integers have the same forms',
      { int64Value: '15', sint64Value: '-9223372036854775808', uint64Value: '18446744073709551615' },
    ],
    [{ int64Wrapper: '1e3' }, 'wrappers have the same forms', { int64Wrapper: '1000' }],
    [{ int32List: ['1e1', 2] }, 'items have the same forms', { int32List: [10, 2] }],
    [{ doubleValue: '-1.5e3' }, 'doubles may be strings', { doubleValue: -1500 }],
    [{ doubleValue: '-Infinity' }, 'infinity is a string', { doubleValue: '-Infinity' }],
    [{ floatValue: 'NaN' }, 'floats may be NaN', { floatValue: 'NaN' }],
    [
      { floatValue: 3.4028235e38 },
      'the largest float may be rounded up',
      { floatValue: 3.4028234663852886e38 },
    ],
    [
      { floatValue: '-3.4028235e38' },
      'so may the smallest, in a string',
      { floatValue: -3.4028234663852886e38 },
    ],
    [{ firstChoice: 'a', thirdChoice: null }, 'null is not a member of a oneof', { firstChoice: 'a' }],
    [{ third_choice: null, secondChoice: 1 }, 'null is not a member under either name', { secondChoice: 1 }],
    [{ bytesValue: 'AQI=' }, 'bytes are base64 with padding', { bytesValue: 'AQI=' }],
    [{ bytesValue: '-_8' }, 'or base64url without padding', { bytesValue: '+/8=' }],
    [{ bytesValue: '-_' }, 'bits after the last byte may be set', { bytesValue: '+w==' }],
    [{ time: '2000-02-29T23:59:59.5+23:59' }, '2000 is a leap year', { time: '2000-02-29T00:00:59.500Z' }],
    [{ time: '0001-01-01T00:00:00-00:01' }, 'it is in year 1', { time: '0001-01-01T00:01:00Z' }],
    [
      { time: '9999-12-31T23:59:59.999999999Z' },
      'it is the last time',
      { time: '9999-12-31T23:59:59.999999999Z' },
    ],
    [
      { duration: '-315576000000.999999999s' },
      'it is the smallest duration',
      { duration: '-315576000000.999999999s' },
    ],
    [{ fieldMask: 'a.bC,d.*.e1,*' }, 'a mask may have several paths', { fieldMask: 'a.bC,d.*.e1,*' }],
    [{ fieldMask: '' }, 'a mask may have no path', { fieldMask: '' }],
    [
      { nestedMap: { '-7': { int32Value: '1e1' }, '0': {} } },
      'messages in maps have the same forms',
      { nestedMap: { '-7': { int32Value: 10 }, '0': {} } },
    ],
    [
      { stringByNumber: { '-9223372036854775808': 'a' } },
      'integers may be keys',
      { stringByNumber: { '-9223372036854775808': 'a' } },
    ],
    [{ stringMap: { ' 1': 'b' } }, 'any text is a key if keys are strings', { stringMap: { ' 1': 'b' } }],
    [
      anyOf('library.v1.Everything', { uint64Value: '1e19', any: null }),
      'messages in an Any have the same forms',
      anyOf('library.v1.Everything', { uint64Value: '10000000000000000000' }),
    ],
    [
      anyOf('google.protobuf.Int64Value', { value: '1e3' }),
      'wrappers in an Any have the same forms',
      anyOf('google.protobuf.Int64Value', { value: '1000' }),
    ],
    [{ any: {} }, 'an Any may be empty', { any: {} }],
    [{ time: null, int32List: null, nestedMap: null, any: null }, 'null is not a value', {}],
  ])('takes %j: %s', (json, _, message) => {
    expect(roundTrip(json)).toEqual(message);
  });

  const inNumbers = [
    { text: '', why: 'there is no digit' },
    { text: ' 1', why: 'a space is not a digit' },
    { text: '1 ', why: 'a space is not a digit' },
    { text: '1\n', why: 'a line break is not a digit' },
    { text: '+1', why: 'a plus sign is not allowed' },
    { text: '01', why: 'leading zeros are not allowed' },
    { text: '-01', why: 'leading zeros are not allowed' },
    { text: '1.', why: 'a digit follows the point' },
    { text: '.5', why: 'a digit precedes the point' },
    { text: '1e', why: 'a digit follows the exponent' },
    { text: '0x10', why: 'numbers are decimal' },
    { text: '١', why: 'digits are ASCII' },
    { text: '1e400', why: 'it is out of bounds' },
    { text: '1e99999999999999999999', why: 'it is out of bounds' },
  ];
  const numbers = schema.fields
    .filter(({ name }) =>
      /^(?:double|float|s?u?int32|s?int64|uint64|s?fixed(?:32|64))_value$|^int64_wrapper$/.test(name),
    )
    .map(({ jsonName }) => jsonName);

  it('takes six million characters of base64', () => {
    const json = { bytesValue: 'AAAA'.repeat(1_500_000) };
    expect(accepts(json)).toBe(true);
  });

  it.each(inNumbers)('refuses $text in every number: $why', ({ text }) => {
    expect(numbers).toHaveLength(13);
    expect(numbers.filter((name) => accepts({ [name]: text }))).toEqual([]);
    expect(accepts({ int32List: [1, text] })).toBe(false);
    expect(accepts({ nestedMap: { [text]: {} } })).toBe(false);
    expect(accepts(anyOf('library.v1.Everything', { int32Value: text }))).toBe(false);
  });

  it.each<[json: JsonObject, why: string]>([
    [{ int32Value: '0.5' }, 'it is not whole'],
    [{ int32Value: 0.5 }, 'it is not whole'],
    [{ int64Value: '1e-1' }, 'it is not whole'],
    [{ int64Value: 'NaN' }, 'integers are numbers'],
    [{ int32Value: '2147483648' }, 'it is out of bounds'],
    [{ uint32Value: '-1' }, 'it has a sign'],
    [{ fixed64Value: '18446744073709551616' }, 'it is out of bounds'],
    [{ floatValue: 3.502823e38 }, 'it is beyond single precision'],
    [{ genre: '1' }, 'the number of an enum is not a string'],
    [{ bytesValue: 'AQ I=' }, 'a space is not base64'],
    [{ bytesValue: 'AQI=\n' }, 'a line break is not base64'],
    [{ bytesValue: 'AQ==AQ==' }, 'padding ends the text'],
    [{ bytesValue: 'AQ=' }, 'padding is incomplete'],
    [{ bytesValue: '====' }, 'padding alone encodes no byte'],
    [{ bytesValue: 'AQIDB' }, 'one base64 digit encodes no byte'],
    [{ bytesValue: '+_' }, 'the alphabets cannot be mixed'],
    [{ time: '2001-02-29T00:00:00Z' }, '2001 is not a leap year'],
    [{ time: '1900-02-29T00:00:00Z' }, '1900 is not a leap year'],
    [{ time: '2001-04-31T00:00:00Z' }, 'April has 30 days'],
    [{ time: '2001-00-01T00:00:00Z' }, 'there is no month 0'],
    [{ time: '2001-01-01T24:00:00Z' }, 'the last hour is 23'],
    [{ time: '2001-01-01T00:60:00Z' }, 'the last minute is 59'],
    [{ time: '2016-12-31T23:59:60Z' }, 'a Timestamp has no leap seconds'],
    [{ time: '2001-01-01T00:00:00+24:00' }, 'an offset has no hour 24'],
    [{ time: '2001-01-01T00:00:00-00:60' }, 'an offset has no minute 60'],
    [{ time: '2001-01-01T00:00:00+0100' }, 'an offset has a colon'],
    [{ time: '2001-01-01T00:00:00' }, 'there is no offset'],
    [{ time: '2001-01-01t00:00:00Z' }, 'ProtoJSON has upper-case letters'],
    [{ time: '2001-01-01T00:00:00z' }, 'ProtoJSON has upper-case letters'],
    [{ time: '2001-01-01T00:00:00.Z' }, 'a digit follows the point'],
    [{ time: '2001-01-01T00:00:00.1234567890Z' }, 'there are at most 9 decimals'],
    [{ time: '0000-01-01T00:00:00Z' }, 'the first year is 1'],
    [{ time: '0001-01-01T00:00:00+00:01' }, 'it is before year 1'],
    [{ time: '9999-12-31T23:59:59-00:01' }, 'it is after year 9999'],
    [{ timeMap: { a: '2001-02-29T00:00:00Z' } }, 'values of maps are times'],
    [{ nestedMap: { 1: { nestedList: [{ time: '2001-02-29T00:00:00Z' }] } } }, 'it is nested'],
    [anyOf('google.protobuf.Timestamp', { value: '2001-02-29T00:00:00Z' }), 'it is in an Any'],
    [anyOf('library.v1.Author', { born: '2001-02-29T00:00:00Z' }), 'it is in an Any'],
    [{ duration: '1' }, 'a duration has its unit'],
    [{ duration: '1s ' }, 'a duration ends with its unit'],
    [{ duration: '+1s' }, 'a plus sign is not allowed'],
    [{ duration: '.5s' }, 'a digit precedes the point'],
    [{ duration: '1.1234567890s' }, 'there are at most 9 decimals'],
    [{ duration: '315576000001s' }, 'it is longer than 10000 years'],
    [{ duration: '-315576000001s' }, 'it is longer than 10000 years'],
    [{ fieldMask: 'a, b' }, 'a space is not part of a path'],
    [{ fieldMask: 'a,' }, 'a path is missing'],
    [{ fieldMask: 'a..b' }, 'a name is missing'],
    [{ fieldMask: 'é' }, 'names are ASCII'],
    [{ nestedMap: { '-0': {} } }, 'a key has one form'],
    [{ timeByNumber: { '01': '2001-01-01T00:00:00Z' } }, 'a key has one form'],
    [anyOf('google.protobuf.Struct', { a: 1 }), 'a Struct in an Any needs a "value"'],
    [anyOf('google.protobuf.Timestamp', {}), 'a value is missing'],
  ])('refuses %j: %s', (json) => {
    expect(accepts(json)).toBe(false);
  });

  const repeated = (count: number, wrap: (json: JsonValue) => JsonValue, json: JsonValue): JsonValue =>
    Array.from({ length: count }).reduce<JsonValue>(wrap, json);

  it.each<{ what: string; json: JsonValue }>([
    { what: 'lists', json: { value: repeated(MAX_DEPTH - 1, (json) => [json], 1) } },
    { what: 'structs', json: { struct: repeated(MAX_DEPTH - 1, (a) => ({ a }), 1) } },
    { what: 'messages', json: repeated(MAX_DEPTH - 1, (nested) => ({ nested }), { value: 1 }) },
    {
      what: 'messages in an Any each',
      json: repeated(MAX_DEPTH - 1, (json) => anyOf('library.v1.Everything', json as JsonObject), {
        value: 1,
      }),
    },
    {
      what: 'lists in an Any',
      json: anyOf('google.protobuf.Value', { value: repeated(MAX_DEPTH - 2, (json) => [json], 1) }),
    },
  ])('round-trips $what that nest as deeply as JSON text may', ({ json }) => {
    expect(roundTrip(structuredClone(json))).toEqual(json);
    expect(roundTrip({ nested: structuredClone(json) })).toEqual({ nested: json });
  });
});
