import { type JsonValue, toJson } from '@bufbuild/protobuf';
import { type Value, ValueSchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { StrictJson } from '../../src/json/json-input.js';
import { parseJsonText } from '../../src/json/json-text.js';
import { messageType, registry } from '../support/library-contract.js';
import { refusal, wrongFields } from '../support/refusal.js';

const strict = new StrictJson(registry, { ignoreUnknown: true });
const bytesOf = (text: Uint8Array | string): Uint8Array =>
  typeof text === 'string' ? Buffer.from(text) : text;

/** The JSON value of a text that may be of any kind. */
function parse(text: Uint8Array | string): JsonValue {
  const read = strict.read(ValueSchema, parseJsonText(bytesOf(text)));
  return toJson(ValueSchema, read as Value);
}

/** The message of a text, as JSON. */
function read(text: string): JsonValue {
  const schema = messageType('Everything');
  return toJson(schema, strict.read(schema, parseJsonText(bytesOf(text))), { registry });
}

describe('JSON text', () => {
  it.each([
    '{}',
    '[]',
    'null',
    ' "a" ',
    '{"a":{"b":[1,{"c":null}]},"d":"\\u00e9\\n\\"{[,:"}',
    '[{"a":1},{"a":2}]',
    '{"a":{"a":{"a":1}},"b":{"a":1}}',
    '{"\\\\":1,"\\"":2,"":3}',
    '[true,false,null,1.5,"a",[],{}]',
    '"\\ud83d\\udcda📚"',
    '"\\u0000"',
    '-0.1e+2',
    '{"int64Value":9007199254740991,"int64Wrapper":"9007199254740993","sint64Value":1e3}',
    '{"doubleValue":9007199254740993,"stringWrapper":9007199254740993,"noField":9007199254740993}',
    '{"doubleValue":1e308,"floatValue":1e38,"int32Value":2e9,"genre":2e0,"value":[1e308],"stringValue":1e21}',
    '{"int32Value":0.1234567890123456789,"doubleValue":0.1234567890123456789,"floatValue":1e-400}',
    '{"int64Value":100000000000.0000,"int32List":[-0.0,1000.0000000000000000]}',
    '['.repeat(48) + ']'.repeat(48),
  ])('%s is parsed as JSON.parse does', (text) => {
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  it('may have a key __proto__, which changes no prototype', () => {
    const value = parseJsonText(bytesOf('{"__proto__":{"polluted":true}}')) as object;
    expect(Object.keys(value)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it.each([
    { bytes: '', why: 'it is empty' },
    { bytes: '  ', why: 'it is blank' },
    { bytes: '{', why: 'it is truncated' },
    { bytes: '{} {}', why: 'text follows it' },
    { bytes: '{}\0', why: 'a NUL follows it' },
    { bytes: "{'a':1}", why: 'strings have double quotes' },
    { bytes: '{a:1}', why: 'keys have quotes' },
    { bytes: '[1,]', why: 'it has a trailing comma' },
    { bytes: '[01]', why: 'a number has no leading zero' },
    { bytes: '[NaN]', why: 'NaN is not JSON' },
    { bytes: '"\n"', why: 'a string has no raw line break' },
    { bytes: '/* */{}', why: 'comments are not JSON' },
    { bytes: '\ufeff{}', why: 'it begins with a byte order mark' },
    { bytes: Buffer.from([0x22, 0xff, 0x22]), why: 'it is not UTF-8' },
    { bytes: Buffer.from([0x22, 0xc0, 0xaf, 0x22]), why: 'its UTF-8 is overlong' },
    { bytes: Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), why: 'a surrogate is not UTF-8' },
    { bytes: Buffer.from('{}', 'utf16le'), why: 'it is UTF-16' },
    { bytes: '['.repeat(49) + ']'.repeat(49), why: 'it nests too deeply' },
    { bytes: '{"a":'.repeat(5000) + '1' + '}'.repeat(5000), why: 'it nests far too deeply' },
  ])('is refused: $why', ({ bytes }) => {
    expect(refusal(() => parse(bytes)).reason).toBe('REQUEST_MALFORMED');
    expect(wrongFields(() => parse(bytes))).toEqual([]);
  });

  it.each([
    ['', 'end at line 1, column 1'],
    ['{', 'end at line 1, column 2'],
    ['{\n  "a": [1, 2],\n', 'end at line 3, column 1'],
    ['[1,\r\n 2\r\n', 'end at line 3, column 1'],
    ['{} secret', '"s" at line 1, column 4'],
    ['1,2', '"," at line 1, column 2'],
    ['{\n  "a":}', '"}" at line 2, column 7'],
    ['{"a" 1}', '"1" at line 1, column 6'],
    ['{"a":1 "b":2}', '"\\"" at line 1, column 8'],
    ['{"a":1,}', '"}" at line 1, column 8'],
    ['{"a":1]', '"]" at line 1, column 7'],
    ['{a:1}', '"a" at line 1, column 2'],
    ['[1,]', '"]" at line 1, column 4'],
    ['[:', '":" at line 1, column 2'],
    ['[[], {}, "\\u00e9\\n", -1.5e+3, true, false, null, tru]', '"t" at line 1, column 50'],
    ['[truer]', '"r" at line 1, column 6'],
    ['[01]', '"1" at line 1, column 3'],
    ['[1.]', '"." at line 1, column 3'],
    ['[-]', '"-" at line 1, column 2'],
    ['["é😀", \u00a01]', '"\u00a0" at line 1, column 8'],
    ['["a\\x"]', '"\\\\" at line 1, column 4'],
    ['["a\n"]', '"\\n" at line 1, column 4'],
    ['["\\u00e9\\u00g9"]', '"\\\\" at line 1, column 9'],
    ['["\\"', 'end at line 1, column 5'],
  ])('is refused with the place where it is malformed: %j', (text, unexpected) => {
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
    expect(refusal(() => parse(text)).text()).toBe(`The body is not valid JSON: unexpected ${unexpected}.`);
  });

  it('is refused with its place although a string without end has a million escapes', () => {
    expect(refusal(() => parse(`["${'\\n'.repeat(1_000_000)}`)).text()).toContain('column 2000003');
  });

  it.each([
    ['a key is repeated', '{"a":1,"a":1}', ['a']],
    ['an escaped key is the same key', '{"a":1,"\\u0061":2,"a":3}', ['a']],
    ['a nested key is repeated', '{"b":[{},{"c":{"d":1,"e":2,"d":1}}]}', ['b[1].c.d']],
    ['__proto__ is a key like any other', '{"__proto__":1,"__proto__":2}', ['__proto__']],
    ['a string has a lone surrogate', '{"a":"\\ud800"}', ['a']],
    ['surrogates are in the wrong order', '{"stringList":["x","\\udc00\\ud800"]}', ['string_list[1]']],
    ['a key has a lone surrogate', '{"\\udfff":1}', ['\ufffd']],
    ['two places are invalid', '{"a":"\\ud800","b":1,"b":2}', ['a', 'b']],
    ['a number is beyond double precision', '{"doubleValue":1e400}', ['double_value']],
    ['a JSON value is beyond double precision', '{"value":-1e400}', ['value']],
    ['a nested number exceeds a double', '{"struct":{"a":[1,1e400]}}', ['struct.a[1]']],
    ['a number of no field exceeds a double', '{"noField":1e400}', ['noField']],
    ['a number for a string exceeds a double', '{"stringValue":1e400}', ['string_value']],
    ['a number is beyond single precision', '{"floatValue":1e39}', ['float_value']],
    ['an integer is out of bounds', '{"int64Value":1e400}', ['int64_value']],
    ['an integer is out of bounds', '{"uint64Value":18446744073709551616}', ['uint64_value']],
    ['an integer is out of bounds', '{"int64Value":-9223372036854775809}', ['int64_value']],
    ['an integer is out of bounds', '{"uint64Value":-9007199254740993}', ['uint64_value']],
    ['an integer is out of bounds', '{"int32Value":3e9}', ['int32_value']],
    ['a wrapped integer is out of bounds', '{"int64Wrapper":1e19}', ['int64_wrapper']],
    ['an enum is out of bounds', '{"genre":1e10}', ['genre']],
    ['an integer is not whole', '{"int32Value":1.0000000000000000001}', ['int32_value']],
    ['an integer is not whole', '{"nested":{"int64Value":9007199254740992.5}}', ['nested.int64_value']],
    ['an integer is not whole', '{"int32List":[1e-400]}', ['int32_list[0]']],
    ['an integer is not whole', '{"genre":1.0000000000000000001}', ['genre']],
  ])('is refused with the place of the violation: %s', (_, text, fields) => {
    expect(wrongFields(() => read(text))).toEqual(fields);
  });

  it.each([
    {
      text: '{"uint64Value":1e20}',
      description: 'Must be a whole number from 0 to 18446744073709551615; got 1e20.',
    },
    {
      text: `{"doubleValue":${'9'.repeat(400)}}`,
      description: `Must be a number within double precision; got ${'9'.repeat(64)}….`,
    },
    {
      text: '{"value":-1e400}',
      description: 'Must be a JSON value whose numbers are within double precision; got -1e400.',
    },
  ])('is refused with what is allowed, then what came: $text', ({ text, description }) => {
    const refused = refusal(() => read(text));
    expect(refused.message).toBe('The request is not valid.');
    expect(refused.violations()).toMatchObject([{ description }]);
  });

  it.each([
    ['a field', '{"int64Value":9007199254740993}', { int64Value: '9007199254740993' }],
    ['a field', '{"int64Value":9223372036854774784}', { int64Value: '9223372036854774784' }],
    ['a field', '{"int64_value":-9223372036854775808}', { int64_value: '-9223372036854775808' }],
    ['a field', '{"uint64Value":18446744073709549568}', { uint64Value: '18446744073709549568' }],
    ['a field', '{"fixed64Value":18446744073709551615}', { fixed64Value: '18446744073709551615' }],
    ['a power of ten', '{"uint64Value":1e19}', { uint64Value: '10000000000000000000' }],
    ['a fraction', '{"sint64Value":9007199254740.993E+3}', { sint64Value: '9007199254740993' }],
    ['a tenth', '{"sint64Value":90071992547409930e-1}', { sint64Value: '9007199254740993' }],
    ['a fraction', '{"sint64Value":9007199254740993.0}', { sint64Value: '9007199254740993' }],
    ['the number of an enum', '{"genre":20e-1}', { genre: 2 }],
    ['a wrapper', '{"int64Wrapper":9007199254740993}', { int64Wrapper: '9007199254740993' }],
    [
      'a nested field',
      '{"nestedMap":{"7":{"nestedList":[{},{"int64Value": 9007199254740993 }]}}}',
      { nestedMap: { '7': { nestedList: [{}, { int64Value: '9007199254740993' }] } } },
    ],
    [
      'two fields among others',
      '{"a\\"1":1,"int64Value":9007199254740993,"sint64Value":-9007199254740993,"b":[]}',
      { 'a"1': 1, int64Value: '9007199254740993', sint64Value: '-9007199254740993', b: [] },
    ],
    [
      'a field in an Any',
      '{"any":{"int64Value":9007199254740993,"@type":"/library.v1.Everything"}}',
      { any: { int64Value: '9007199254740993', '@type': '/library.v1.Everything' } },
    ],
    [
      'a wrapper in an Any in an Any',
      '{"any":{"@type":"google.protobuf.Any","value":{"@type":"google.protobuf.Int64Value","value":1e18}}}',
      {
        any: {
          '@type': 'google.protobuf.Any',
          value: { '@type': 'google.protobuf.Int64Value', value: '1000000000000000000' },
        },
      },
    ],
  ])('keeps every digit of a 64-bit integer (%s): %s', (_, text, value) => {
    expect(read(text)).toEqual(read(JSON.stringify(value)));
  });

  it.each([
    '{"any":{"@type":"google.protobuf.Struct","value":{"int64Value":9007199254740993}}}',
    '{"struct":{"fields":{"int64Value":9007199254740993}}}',
  ])('leaves a number unchanged that belongs to no field: %s', (text) => {
    expect(read(text)).toEqual(JSON.parse(text));
  });

  it.each(['\\n', '\\\\', '\\"'])('may contain %s six million times', (escape) => {
    expect(parse(`["${escape.repeat(6_000_000)}","a"]`)).toEqual([expect.any(String), 'a']);
  });

  it('is parsed in linear time', () => {
    const text = `["${'\\"'.repeat(16_000)}","${'\\\\'.repeat(16_000)}"]`;
    expect(parse(text)).toEqual(JSON.parse(text));
    const number = `${'0'.repeat(32_000)}1${'0'.repeat(32_000)}`;
    expect(wrongFields(() => read(`{"int64Value":1${number}}`))).toEqual(['int64_value']);
    expect(wrongFields(() => read(`{"int64Value":1.${number}}`))).toEqual(['int64_value']);
  });
});
