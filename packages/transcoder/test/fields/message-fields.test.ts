import type { JsonValue } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import {
  fieldsByName,
  type JsonStep,
  pathOf,
  type Place,
  placeIn,
  shortened,
} from '../../src/fields/message-fields.js';
import { messageType, registry } from '../support/library-contract.js';

const placeAt = (value: JsonValue, steps: readonly JsonStep[]): Place =>
  steps.reduce<Place>((place, step) => placeIn(registry, place, step), {
    value,
    container: messageType('Everything'),
  });

describe('the fields of a message', () => {
  it('are found by proto name and by JSON name', () => {
    const fields = fieldsByName(messageType('Everything'));
    expect(fields.get('int32_list')).toBe(fields.get('int32List'));
    expect(fields.get('odd_name')).toBe(fields.get('Odd'));
    expect(fields.get('oddName')).toBeUndefined();
    expect(fields.get('hasOwnProperty')).toBeUndefined();
  });
});

describe('a field path', () => {
  it.each([
    { steps: [], path: '' },
    { steps: ['stringValue'], path: 'string_value' },
    { steps: ['nested', 'nested', 'Odd'], path: 'nested.nested.odd_name' },
    { steps: ['nestedList', 2, 'genreList', 0], path: 'nested_list[2].genre_list[0]' },
    { steps: ['nestedMap', '7', 'boolValue'], path: 'nested_map[7].bool_value' },
    { steps: ['stringMap', 'a.b'], path: 'string_map[a.b]' },
    { steps: ['struct', 'anyKey', 3], path: 'struct.anyKey[3]' },
    { steps: ['noField', 'noOther'], path: 'noField.noOther' },
  ] satisfies { steps: JsonStep[]; path: string }[])('of $steps is $path', ({ steps, path }) => {
    expect(pathOf(placeAt({}, steps))).toBe(path);
  });
});

describe('a place in an Any', () => {
  const author = { '@type': 'type.googleapis.com/library.v1.Author', born: 'x' };
  const time = { '@type': 'type.googleapis.com/google.protobuf.Timestamp', value: 'x' };
  const wrapper = { '@type': 'type.googleapis.com/google.protobuf.Int64Value', value: 1 };
  const inAny = { '@type': 'type.googleapis.com/google.protobuf.Any', value: author };

  it.each([
    { json: { any: author }, steps: ['any', 'born'], path: 'any.born', field: 'library.v1.Author.born' },
    { json: { any: author }, steps: ['any', '@type'], path: 'any.@type', field: undefined },
    { json: { any: time }, steps: ['any', 'value'], path: 'any.value', field: undefined },
    {
      json: { any: wrapper },
      steps: ['any', 'value'],
      path: 'any.value',
      field: 'google.protobuf.Int64Value.value',
    },
    {
      json: { nestedList: [{}, { any: inAny }] },
      steps: ['nestedList', 1, 'any', 'value', 'born'],
      path: 'nested_list[1].any.value.born',
      field: 'library.v1.Author.born',
    },
    { json: { any: {} }, steps: ['any', 'typeUrl'], path: 'any.typeUrl', field: undefined },
    { json: {}, steps: ['any', 'value', 0, 'born'], path: 'any.value[0].born', field: undefined },
    { json: { struct: {} }, steps: ['struct', 'fields', 'a'], path: 'struct.fields.a', field: undefined },
  ] satisfies { json: JsonValue; steps: JsonStep[]; path: string; field: string | undefined }[])(
    '$steps is $path, of the field $field',
    ({ json, steps, path, field }) => {
      const place = placeAt(json, steps);
      expect(pathOf(place)).toBe(path);
      expect(place.field && `${place.field.parent.typeName}.${place.field.name}`).toBe(field);
    },
  );
});

describe('a name that is echoed to the client', () => {
  it.each([
    { name: 'short', echo: 'short', why: 'it is short' },
    { name: 'x'.repeat(64), echo: 'x'.repeat(64), why: 'it is not longer than 64 characters' },
    { name: 'x'.repeat(65), echo: `${'x'.repeat(64)}…`, why: 'it is cut after 64 characters' },
    { name: '📚'.repeat(65), echo: `${'📚'.repeat(64)}…`, why: 'no character is cut in two' },
    { name: 'a\ud800b', echo: 'a\ufffdb', why: 'a lone surrogate is not a character' },
  ])('is $echo: $why', ({ name, echo }) => {
    expect(shortened(name)).toBe(echo);
  });
});
