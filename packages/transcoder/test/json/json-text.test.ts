import type { DescField } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { MAX_DEPTH, parseJsonText } from '../../src/json/json-text.js';
import { placeOf, type JsonStep } from '../../src/fields/message-fields.js';
import { messageType } from '../support/library-contract.js';
import { refusal, wrongFields } from '../support/refusal.js';

const fieldAt = (steps: readonly JsonStep[]): DescField | undefined =>
  placeOf(messageType('Everything'), steps).field;

const parse = (bytes: Uint8Array | string): unknown =>
  parseJsonText(typeof bytes === 'string' ? Buffer.from(bytes) : bytes, (steps) => ({
    path: steps.join('/'),
    field: fieldAt(steps),
  }));

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
    '"\\ud83d\\udcda📚"',
    '"\\u0000"',
    '-0.1e+2',
    '{"int64Value":9007199254740991,"int64Wrapper":"9007199254740993","uint64Value":1e19}',
    '{"doubleValue":9007199254740993,"stringWrapper":9007199254740993,"noField":9007199254740993}',
    '['.repeat(MAX_DEPTH) + ']'.repeat(MAX_DEPTH),
  ])('%s is taken as JSON.parse takes it', (text) => {
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  it('may have a key __proto__, which changes no prototype', () => {
    const value = parse('{"__proto__":{"polluted":true}}') as object;
    expect(Object.keys(value)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it.each([
    { bytes: '', why: 'it is empty' },
    { bytes: '  ', why: 'it is blank' },
    { bytes: '{', why: 'it is cut' },
    { bytes: '{} {}', why: 'text trails' },
    { bytes: '{}\0', why: 'a NUL trails' },
    { bytes: "{'a':1}", why: 'quotes are double' },
    { bytes: '{a:1}', why: 'keys are quoted' },
    { bytes: '[1,]', why: 'a comma is too many' },
    { bytes: '[01]', why: 'a number has no leading zero' },
    { bytes: '[NaN]', why: 'NaN is not JSON' },
    { bytes: '"\n"', why: 'a string has no raw line break' },
    { bytes: '/* */{}', why: 'comments are not JSON' },
    { bytes: '\ufeff{}', why: 'it begins with a byte order mark' },
    { bytes: Buffer.from([0x22, 0xff, 0x22]), why: 'it is not UTF-8' },
    { bytes: Buffer.from([0x22, 0xc0, 0xaf, 0x22]), why: 'its UTF-8 is overlong' },
    { bytes: Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), why: 'a surrogate is not UTF-8' },
    { bytes: Buffer.from('{}', 'utf16le'), why: 'it is UTF-16' },
    { bytes: '['.repeat(MAX_DEPTH + 1) + ']'.repeat(MAX_DEPTH + 1), why: 'it nests too deep' },
    { bytes: '{"a":'.repeat(5000) + '1' + '}'.repeat(5000), why: 'it nests far too deep' },
  ])('is refused where $why', ({ bytes }) => {
    expect(refusal(() => parse(bytes)).reason).toBe('REQUEST_MALFORMED');
    expect(wrongFields(() => parse(bytes))).toEqual([]);
  });

  it.each([
    { text: '{"a":1,"a":1}', fields: ['a'], why: 'a key came twice' },
    { text: '{"a":1,"\\u0061":2,"a":3}', fields: ['a', 'a'], why: 'an escaped key is the same key' },
    {
      text: '{"b":[{},{"c":{"d":1,"e":2,"d":1}}]}',
      fields: ['b/1/c/d'],
      why: 'a key came twice further down',
    },
    { text: '{"__proto__":1,"__proto__":2}', fields: ['__proto__'], why: '__proto__ is a key like others' },
    { text: '{"a":"\\ud800"}', fields: ['a'], why: 'half a surrogate pair came' },
    { text: '["x","\\udc00\\ud800"]', fields: ['1'], why: 'the halves came in the wrong order' },
    { text: '{"\\udfff":1}', fields: ['\udfff'], why: 'a key holds half a surrogate pair' },
    { text: '{"a":"\\ud800","b":1,"b":2}', fields: ['a', 'b'], why: 'two places are wrong' },
    {
      text: '{"int64Value":9007199254740993}',
      fields: ['int64Value'],
      why: 'a 64-bit integer would be rounded',
    },
    {
      text: '{"uint64_value":-9007199254740993}',
      fields: ['uint64_value'],
      why: 'a 64-bit integer would be rounded',
    },
    {
      text: '{"int64Wrapper":9007199254740993}',
      fields: ['int64Wrapper'],
      why: 'a wrapped integer would be rounded',
    },
  ])('is refused with the place where $why', ({ text, fields }) => {
    expect(wrongFields(() => parse(text))).toEqual(fields);
  });

  it('of the largest size is read in time that grows with the size', () => {
    const text = `["${'\\"'.repeat(16_000)}","${'\\\\'.repeat(16_000)}"]`;
    expect(parse(text)).toEqual(JSON.parse(text));
  });
});
