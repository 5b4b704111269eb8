import type { JsonValue } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import type { JsonOptions } from '../../src/json/json-options.js';
import { JsonOutput } from '../../src/json/json-output.js';
import { StrictJson } from '../../src/json/json-input.js';
import { messageType, registry } from '../support/library-contract.js';

const schema = messageType('Everything');

interface Row {
  readonly json: JsonValue;
  readonly output: JsonValue;
  readonly why: string;
}

/** The output for a JSON value after it is read into a message. */
function output(json: JsonValue, options: JsonOptions): JsonValue {
  const message = new StrictJson(registry, options).read(schema, json);
  return new JsonOutput(registry, options).json(schema, message);
}

/** Rows of protobuf's conformance suite whose result depends on options. The fields are ours. */
describe("ProtoJSON as in protobuf's conformance suite", () => {
  it.each<Row>([
    { json: { FieldName52: 0 }, output: {}, why: 'a default is left out' },
    { json: { __field_name52: 0 }, output: {}, why: 'so is a default under its proto name' },
    { json: { FieldName52: 1 }, output: { FieldName52: 1 }, why: 'a name may begin with underscores' },
    { json: { nullValue: null }, output: {}, why: 'the only value of NullValue is its default' },
    { json: { nullValue: 'NULL_VALUE' }, output: {}, why: 'NullValue may be written by name' },
    { json: { nullChoice: null }, output: { nullChoice: null }, why: 'null is a value in a oneof' },
    { json: { nullChoice: 'NULL_VALUE' }, output: { nullChoice: null }, why: 'so is null by name' },
    { json: { nullList: [null] }, output: { nullList: [null] }, why: 'null is an item of a list' },
    {
      json: { time: '1970-01-01T00:00:00.000000000Z' },
      output: { time: '1970-01-01T00:00:00Z' },
      why: 'a time of whole seconds has no decimals',
    },
    {
      json: { time: '1970-01-01T00:00:00.010000000Z' },
      output: { time: '1970-01-01T00:00:00.010Z' },
      why: 'others have three, six or nine',
    },
  ])('reads $json and writes $output: $why', ({ json, output: expected }) => {
    expect(output(json, { omit: 'defaults' })).toEqual(expected);
  });

  it.each<Row>([
    { json: { unknown: 1, int32Value: 1 }, output: { int32Value: 1 }, why: 'a field' },
    { json: { nested: { unknown: [{}] } }, output: { nested: {} }, why: 'a nested field' },
    { json: { genre: 'UNKNOWN' }, output: {}, why: 'the name of an enum value' },
    {
      json: { genreList: ['UNKNOWN', 'GENRE_PROSE'] },
      output: { genreList: ['GENRE_PROSE'] },
      why: 'in a list',
    },
    {
      json: { genreMap: { a: 'UNKNOWN', b: 'GENRE_PROSE' } },
      output: { genreMap: { b: 'GENRE_PROSE' } },
      why: 'in a map',
    },
    {
      json: { any: { '@type': 'type.googleapis.com/library.v1.Author', unknown: 1, name: 'a' } },
      output: { any: { '@type': 'type.googleapis.com/library.v1.Author', name: 'a' } },
      why: 'a field in an Any',
    },
  ])('ignores unknown names with ignoreUnknown: $why', ({ json, output: expected }) => {
    expect(output(structuredClone(json), { omit: 'defaults', ignoreUnknown: true })).toEqual(expected);
    expect(() => output(json, { omit: 'defaults' })).toThrow();
  });
});
