import { fromBinary, toBinary, toJson, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { StrictJson } from '../../src/json/json-input.js';
import { MAX_DEPTH } from '../../src/json/json-text.js';
import { messageType, registry } from '../support/library-contract.js';

const schema = messageType('Everything');
const strict = new StrictJson(registry);

/** The message in JSON after a round trip through its binary form, like a request and its response. */
const roundTrip = (json: JsonValue): JsonValue =>
  toJson(schema, fromBinary(schema, toBinary(schema, strict.read(schema, json))), { registry });

const anyOf = (typeName: string, content: JsonObject): JsonObject => ({
  any: { '@type': `type.googleapis.com/${typeName}`, ...content },
});

describe('strict ProtoJSON', () => {
  it.each<{ json: JsonObject; message: JsonObject; why: string }>([
    {
      json: { int32Value: '1e5' },
      message: { int32Value: 100000 },
      why: 'a number may have an exponent',
    },
    {
      json: { int32Value: 100000.0 },
      message: { int32Value: 100000 },
      why: 'an integer may have a zero fraction',
    },
    { json: { int32_value: '-15.00E-0' }, message: { int32Value: -15 }, why: 'a string may have both' },
    {
      json: { int32Value: '-0.00e9', boolValue: true },
      message: { boolValue: true },
      why: 'every form of zero is zero',
    },
    {
      json: { int32Value: '-2147483648' },
      message: { int32Value: -2147483648 },
      why: 'it is the smallest integer',
    },
    {
      json: { fixed32Value: '4.294967295e9' },
      message: { fixed32Value: 4294967295 },
      why: 'it is the largest integer',
    },
    {
      json: { int64Value: '1.5e1', sint64Value: '-9223372036854775808', uint64Value: '18446744073709551615' },
      message: { int64Value: '15', sint64Value: '-9223372036854775808', uint64Value: '18446744073709551615' },
      why: '64-bit integers have the same forms',
    },
    { json: { int64Wrapper: '1e3' }, message: { int64Wrapper: '1000' }, why: 'wrappers have the same forms' },
    { json: { int32List: ['1e1', 2] }, message: { int32List: [10, 2] }, why: 'items have the same forms' },
    { json: { doubleValue: '-1.5e3' }, message: { doubleValue: -1500 }, why: 'doubles may be strings' },
    {
      json: { doubleValue: '-Infinity' },
      message: { doubleValue: '-Infinity' },
      why: 'infinity is a string',
    },
    { json: { floatValue: 'NaN' }, message: { floatValue: 'NaN' }, why: 'floats may be NaN' },
    {
      json: { floatValue: 3.4028235e38 },
      message: { floatValue: 3.4028234663852886e38 },
      why: 'the largest float may be rounded up',
    },
    {
      json: { floatValue: '-3.4028235e38' },
      message: { floatValue: -3.4028234663852886e38 },
      why: 'so may the smallest, in a string',
    },
    {
      json: { firstChoice: 'a', thirdChoice: null },
      message: { firstChoice: 'a' },
      why: 'null is not a member of a oneof',
    },
    {
      json: { third_choice: null, secondChoice: 1 },
      message: { secondChoice: 1 },
      why: 'null is not a member under either name',
    },
    { json: { bytesValue: 'AQI=' }, message: { bytesValue: 'AQI=' }, why: 'bytes are base64 with padding' },
    {
      json: { bytesValue: '-_8' },
      message: { bytesValue: '+/8=' },
      why: 'or base64url without padding',
    },
    {
      json: { bytesValue: '-_' },
      message: { bytesValue: '+w==' },
      why: 'bits after the last byte may be set',
    },
    {
      json: { time: '2000-02-29T23:59:59.5+23:59' },
      message: { time: '2000-02-29T00:00:59.500Z' },
      why: '2000 is a leap year',
    },
    {
      json: { time: '0001-01-01T00:00:00-00:01' },
      message: { time: '0001-01-01T00:01:00Z' },
      why: 'it is in year 1',
    },
    {
      json: { time: '9999-12-31T23:59:59.999999999Z' },
      message: { time: '9999-12-31T23:59:59.999999999Z' },
      why: 'it is the last time',
    },
    {
      json: { duration: '-315576000000.999999999s' },
      message: { duration: '-315576000000.999999999s' },
      why: 'it is the smallest duration',
    },
    {
      json: { fieldMask: 'a.bC,d.*.e1,*' },
      message: { fieldMask: 'a.bC,d.*.e1,*' },
      why: 'a mask may have several paths',
    },
    { json: { fieldMask: '' }, message: { fieldMask: '' }, why: 'a mask may have no path' },
    {
      json: { nestedMap: { '-7': { int32Value: '1e1' }, '0': {} } },
      message: { nestedMap: { '-7': { int32Value: 10 }, '0': {} } },
      why: 'messages in maps have the same forms',
    },
    {
      json: { stringByNumber: { '-9223372036854775808': 'a' } },
      message: { stringByNumber: { '-9223372036854775808': 'a' } },
      why: 'integers may be keys',
    },
    {
      json: { stringMap: { ' 1': 'b' } },
      message: { stringMap: { ' 1': 'b' } },
      why: 'any text is a key if keys are strings',
    },
    {
      json: anyOf('library.v1.Everything', { uint64Value: '1e19', any: null }),
      message: anyOf('library.v1.Everything', { uint64Value: '10000000000000000000' }),
      why: 'messages in an Any have the same forms',
    },
    {
      json: anyOf('google.protobuf.Int64Value', { value: '1e3' }),
      message: anyOf('google.protobuf.Int64Value', { value: '1000' }),
      why: 'wrappers in an Any have the same forms',
    },
    { json: { any: {} }, message: { any: {} }, why: 'an Any may be empty' },
    {
      json: { time: null, int32List: null, nestedMap: null, any: null },
      message: {},
      why: 'null is not a value',
    },
  ])('takes $json: $why', ({ json, message }) => {
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
    { text: '0b1', why: 'numbers are decimal' },
    { text: '1_000', why: 'digits have no separators' },
    { text: '1n', why: 'it is not a JSON number' },
    { text: '١', why: 'digits are ASCII' },
    { text: 'Inf', why: 'infinity has another name' },
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
    expect(strict.accepts(messageType('Everything'), json)).toBe(true);
  });

  it.each(inNumbers)('refuses $text in every number: $why', ({ text }) => {
    expect(numbers).toHaveLength(13);
    expect(numbers.filter((name) => strict.accepts(schema, { [name]: text }))).toEqual([]);
    expect(strict.accepts(schema, { int32List: [1, text] })).toBe(false);
    expect(strict.accepts(schema, { nestedMap: { [text]: {} } })).toBe(false);
    expect(strict.accepts(schema, anyOf('library.v1.Everything', { int32Value: text }))).toBe(false);
  });

  it.each<{ json: JsonObject; why: string }>([
    { json: { int32Value: '0.5' }, why: 'it is not whole' },
    { json: { int32Value: 0.5 }, why: 'it is not whole' },
    { json: { int64Value: '1e-1' }, why: 'it is not whole' },
    { json: { int64Value: 'NaN' }, why: 'integers are numbers' },
    { json: { int32Value: '2147483648' }, why: 'it is out of bounds' },
    { json: { sint32Value: '-2147483649' }, why: 'it is out of bounds' },
    { json: { uint32Value: '-1' }, why: 'it has a sign' },
    { json: { fixed64Value: '18446744073709551616' }, why: 'it is out of bounds' },
    { json: { sfixed64Value: '9223372036854775808' }, why: 'it is out of bounds' },
    { json: { floatValue: 3.502823e38 }, why: 'it is beyond single precision' },
    { json: { floatValue: '-3.502823e38' }, why: 'it is beyond single precision' },
    { json: { genre: '1' }, why: 'the number of an enum is not a string' },
    { json: { bytesValue: 'AQ I=' }, why: 'a space is not base64' },
    { json: { bytesValue: 'AQI=\n' }, why: 'a line break is not base64' },
    { json: { bytesValue: 'AQ==AQ==' }, why: 'padding ends the text' },
    { json: { bytesValue: 'AQ=' }, why: 'padding is incomplete' },
    { json: { bytesValue: 'AQID=' }, why: 'padding is superfluous' },
    { json: { bytesValue: '====' }, why: 'padding alone encodes no byte' },
    { json: { bytesValue: 'AQIDB' }, why: 'one base64 digit encodes no byte' },
    { json: { bytesValue: '+_' }, why: 'the alphabets cannot be mixed' },
    { json: { time: '2001-02-29T00:00:00Z' }, why: '2001 is not a leap year' },
    { json: { time: '1900-02-29T00:00:00Z' }, why: '1900 is not a leap year' },
    { json: { time: '2001-04-31T00:00:00Z' }, why: 'April has 30 days' },
    { json: { time: '2001-01-32T00:00:00Z' }, why: 'no month has 32 days' },
    { json: { time: '2001-00-01T00:00:00Z' }, why: 'there is no month 0' },
    { json: { time: '2001-01-01T24:00:00Z' }, why: 'the last hour is 23' },
    { json: { time: '2001-01-01T00:60:00Z' }, why: 'the last minute is 59' },
    { json: { time: '2016-12-31T23:59:60Z' }, why: 'a Timestamp has no leap seconds' },
    { json: { time: '2001-01-01T00:00:00+24:00' }, why: 'an offset has no hour 24' },
    { json: { time: '2001-01-01T00:00:00-00:60' }, why: 'an offset has no minute 60' },
    { json: { time: '2001-01-01T00:00:00+0100' }, why: 'an offset has a colon' },
    { json: { time: '2001-01-01T00:00:00' }, why: 'there is no offset' },
    { json: { time: '2001-01-01t00:00:00z' }, why: 'ProtoJSON has upper-case letters' },
    { json: { time: '2001-01-01 00:00:00Z' }, why: 'ProtoJSON has a T' },
    { json: { time: '2001-01-01T00:00:00.Z' }, why: 'a digit follows the point' },
    { json: { time: '2001-01-01T00:00:00.1234567890Z' }, why: 'there are at most 9 decimals' },
    { json: { time: '0000-01-01T00:00:00Z' }, why: 'the first year is 1' },
    { json: { time: '0001-01-01T00:00:00+00:01' }, why: 'it is before year 1' },
    { json: { time: '9999-12-31T23:59:59-00:01' }, why: 'it is after year 9999' },
    { json: { timeMap: { a: '2001-02-29T00:00:00Z' } }, why: 'values of maps are times' },
    {
      json: { nestedMap: { 1: { nestedList: [{ time: '2001-02-29T00:00:00Z' }] } } },
      why: 'it is nested',
    },
    { json: anyOf('google.protobuf.Timestamp', { value: '2001-02-29T00:00:00Z' }), why: 'it is in an Any' },
    { json: anyOf('library.v1.Author', { born: '2001-02-29T00:00:00Z' }), why: 'it is in an Any' },
    { json: { duration: '1' }, why: 'a duration has its unit' },
    { json: { duration: '1s ' }, why: 'a duration ends with its unit' },
    { json: { duration: '1s1' }, why: 'a duration ends with its unit' },
    { json: { duration: '+1s' }, why: 'a plus sign is not allowed' },
    { json: { duration: '.5s' }, why: 'a digit precedes the point' },
    { json: { duration: '1.s' }, why: 'a digit follows the point' },
    { json: { duration: '1.1234567890s' }, why: 'there are at most 9 decimals' },
    { json: { duration: '315576000001s' }, why: 'it is longer than 10000 years' },
    { json: { duration: '-315576000001s' }, why: 'it is longer than 10000 years' },
    { json: { fieldMask: 'a, b' }, why: 'a space is not part of a path' },
    { json: { fieldMask: 'a,' }, why: 'a path is missing' },
    { json: { fieldMask: 'a..b' }, why: 'a name is missing' },
    { json: { fieldMask: 'é' }, why: 'names are ASCII' },
    { json: { nestedMap: { '-0': {} } }, why: 'a key has one form' },
    { json: { nestedMap: { '1e0': {} } }, why: 'a key has one form' },
    { json: { stringByNumber: { '+1': 'a' } }, why: 'a key has one form' },
    { json: { timeByNumber: { '01': '2001-01-01T00:00:00Z' } }, why: 'a key has one form' },
    { json: anyOf('google.protobuf.Struct', { a: 1 }), why: 'a Struct in an Any needs a "value"' },
    { json: anyOf('google.protobuf.Timestamp', {}), why: 'a value is missing' },
  ])('refuses $json: $why', ({ json }) => {
    expect(strict.accepts(schema, json)).toBe(false);
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

  it('takes a key __proto__ like any other', () => {
    const json = JSON.parse('{"timeMap":{"__proto__":"2026-01-02T03:04:05Z"}}') as JsonObject;
    expect(JSON.stringify(roundTrip(json))).toBe('{"timeMap":{"__proto__":"2026-01-02T03:04:05Z"}}');
  });
});
