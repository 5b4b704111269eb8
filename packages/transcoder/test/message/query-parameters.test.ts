import { create, type JsonValue } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { HttpRuleSchema } from '../../src/gen/google/api/http_pb.js';
import { bindingsOf } from '../../src/template/binding.js';
import type { FieldViolation } from '../../src/failures/failure.js';
import { type QueryParameter, queryParameters } from '../../src/message/request-message.js';
import { firstOf, methodOf } from '../support/library-contract.js';
import { wrongField } from '../support/refusal.js';

function binding(path: string, body = ''): Parameters<typeof queryParameters>[0] {
  const rule = create(HttpRuleSchema, { pattern: { case: 'post', value: path }, body });
  return firstOf(bindingsOf(methodOf('Probe.Echo'), rule));
}

const found = (query: string, to = binding('/v1/echo')): ReturnType<typeof shown>[] =>
  [...queryParameters(to, query, false)].map(shown);

/** Shows a parameter as its path and value, and a violation unchanged. */
function shown(each: QueryParameter | FieldViolation): [string, JsonValue] | FieldViolation {
  if ('description' in each) return each;
  return [[...each.parents, each.field].map(({ name }) => name).join('.'), each.value];
}

describe('a query', () => {
  it.each([
    { query: '', parameters: [], why: 'it may be empty' },
    { query: '&&', parameters: [], why: 'empty parameters are skipped' },
    { query: 'string_value=a', parameters: [['string_value', 'a']], why: 'proto names are taken' },
    { query: 'stringValue=a', parameters: [['string_value', 'a']], why: 'JSON names are taken' },
    { query: 'Odd=a', parameters: [['odd_name', 'a']], why: 'the JSON name is that of the contract' },
    { query: 'string_value', parameters: [['string_value', '']], why: 'without =, the value is empty' },
    { query: 'string_value=a=b', parameters: [['string_value', 'a=b']], why: 'the first = separates' },
    { query: 'string_value=a+b%2Bc', parameters: [['string_value', 'a b+c']], why: 'a plus is a space' },
    { query: 'string%5Fvalue=%F0%9F%93%9A', parameters: [['string_value', '📚']], why: 'escapes are UTF-8' },
    {
      query: 'nested.nested.bool_value=true',
      parameters: [['nested.nested.bool_value', true]],
      why: 'dots lead into nested messages',
    },
    {
      query: 'thirdChoice.name=a',
      parameters: [['third_choice.name', 'a']],
      why: 'dots lead into a message in a oneof',
    },
    {
      query: 'int32_list=1&int32List=2',
      parameters: [
        ['int32_list', '1'],
        ['int32_list', '2'],
      ],
      why: 'a repeated field may be repeated',
    },
    { query: 'genre=GENRE_PROSE', parameters: [['genre', 'GENRE_PROSE']], why: 'enums may be names' },
    { query: 'genre=2', parameters: [['genre', 2]], why: 'enums may be numbers' },
    {
      query: 'genre_list=1&genre_list=GENRE_PROSE',
      parameters: [
        ['genre_list', 1],
        ['genre_list', 'GENRE_PROSE'],
      ],
      why: 'repeated enums are taken',
    },
    {
      query: 'double_value=-1.5e3&float_value=NaN',
      parameters: [
        ['double_value', -1500],
        ['float_value', 'NaN'],
      ],
      why: 'floats may be NaN and infinite',
    },
    {
      query: 'int64_value=9007199254740993&uint64_value=1.8446744073709551615e19&int32_value=-0.0',
      parameters: [
        ['int64_value', '9007199254740993'],
        ['uint64_value', '18446744073709551615'],
        ['int32_value', '0'],
      ],
      why: 'no digit of an integer is lost',
    },
    { query: 'genre=1e0', parameters: [['genre', 1]], why: 'enum numbers have the forms of numbers' },
    { query: 'bytes_value=-_8', parameters: [['bytes_value', '-_8']], why: 'base64url is taken' },
    { query: 'bytes_value=AQI%3D', parameters: [['bytes_value', 'AQI=']], why: 'bytes are base64' },
    {
      query: 'time=2026-01-02T03:04:05Z',
      parameters: [['time', '2026-01-02T03:04:05Z']],
      why: 'a time is a string',
    },
    {
      query: 'time_list=2026-01-02T03:04:05Z',
      parameters: [['time_list', '2026-01-02T03:04:05Z']],
      why: 'repeated times are taken',
    },
    {
      query: 'duration=1.5s&field_mask=a,bC',
      parameters: [
        ['duration', '1.5s'],
        ['field_mask', 'a,bC'],
      ],
      why: 'durations and masks are strings',
    },
    {
      query: 'string_wrapper=a&int64_wrapper=1&bool_wrapper=false',
      parameters: [
        ['string_wrapper', 'a'],
        ['int64_wrapper', '1'],
        ['bool_wrapper', false],
      ],
      why: 'a wrapper is its value',
    },
    {
      query: 'string_value=%00',
      parameters: [['string_value', '\0']],
      why: 'NUL is left to the server to refuse',
    },
  ] satisfies { query: string; parameters: [string, JsonValue][]; why: string }[])(
    '$query: $why',
    ({ query, parameters }) => {
      expect(found(query)).toEqual(parameters);
    },
  );

  it.each([
    { query: 'nothing=1', field: 'nothing', why: 'there is no such field' },
    { query: '=1', field: '', why: 'a parameter has a name' },
    { query: 'access_token=secret', field: 'access_token', why: 'tokens do not come in the query' },
    { query: 'STRING_VALUE=1', field: 'STRING_VALUE', why: 'names are case-sensitive' },
    { query: 'nested.nothing=1', field: 'nested.nothing', why: 'there is no such nested field' },
    { query: 'nested.=1', field: 'nested.', why: 'a name is missing' },
    { query: 'string_value.x=1', field: 'string_value.x', why: 'a string has no fields' },
    { query: 'nested=1', field: 'nested', why: 'a message has no text form' },
    { query: 'nested_list=1', field: 'nested_list', why: 'repeated messages have no text form' },
    {
      query: 'nested_list.string_value=1',
      field: 'nested_list.string_value',
      why: 'dots lead into no repeated messages',
    },
    { query: 'string_map=1', field: 'string_map', why: 'a map has no text form' },
    { query: 'string_map.a=1', field: 'string_map.a', why: 'dots lead into no maps' },
    { query: 'struct=%7B%7D', field: 'struct', why: 'a Struct has no text form' },
    { query: 'time.seconds=1', field: 'time.seconds', why: 'a time is a single string' },
    { query: 'string_wrapper.value=1', field: 'string_wrapper.value', why: 'a wrapper is its value' },
    { query: 'string_value=a&string_value=b', field: 'string_value', why: 'a field takes one value' },
    { query: 'string_value=a&stringValue=a', field: 'stringValue', why: 'both names are the same field' },
    { query: 'nested.genre=1&nested.genre=1', field: 'nested.genre', why: 'a nested field takes one value' },
    { query: 'bool_value=TRUE', field: 'bool_value', why: 'booleans are true or false' },
    { query: 'bool_value', field: 'bool_value', why: 'an empty value is not a boolean' },
    { query: 'bool_wrapper=1', field: 'bool_wrapper', why: 'wrapped booleans are true or false' },
    { query: 'int32_value=0x10', field: 'int32_value', why: 'numbers are decimal' },
    { query: 'int32_value=', field: 'int32_value', why: 'an empty value is not a number' },
    { query: 'uint64_value=NaN', field: 'uint64_value', why: 'integers are numbers' },
    { query: 'double_value=Inf', field: 'double_value', why: 'ProtoJSON writes Infinity' },
    { query: 'int64_wrapper=%2B1', field: 'int64_wrapper', why: 'a plus sign is not allowed' },
    { query: 'bytes_value=A', field: 'bytes_value', why: 'one base64 digit encodes no byte' },
    { query: 'genre=GENRE_NONE', field: 'genre', why: 'the enum has no such value' },
    { query: 'genre_list=genre_poetry', field: 'genre_list', why: 'the enum has no such value' },
    {
      query: `${'nested.'.repeat(48)}string_value=a`,
      field: `${'nested.'.repeat(48).slice(0, 64)}…`,
      why: 'it nests more deeply than a body may',
    },
    { query: 'time=2001-02-29T00:00:00Z', field: 'time', why: 'the calendar has no such day' },
    { query: 'field_mask=b_c', field: 'field_mask', why: 'a path is in snake case' },
    { query: 'duration=1.5', field: 'duration', why: 'a duration has its unit' },
    { query: 'string_value=%zz', field: 'string_value', why: 'an escape is malformed' },
    { query: 'string_value=%ff', field: 'string_value', why: 'an escape is not UTF-8' },
    { query: 'string_value=%ed%a0%80', field: 'string_value', why: 'a surrogate is not UTF-8' },
    { query: 'string_value=\u00e9', field: 'string_value', why: 'bytes beyond ASCII must be escaped' },
    { query: 'no%74hing+=1', field: 'nothing ', why: 'its name is shown decoded' },
    { query: '%zz=1', field: '%zz', why: 'an escape in the name is malformed' },
    { query: `${'x'.repeat(100)}=1`, field: `${'x'.repeat(64)}…`, why: 'long names are cut' },
  ])('$query is refused: $why', ({ query, field }) => {
    expect(wrongField(found(query).at(-1) as FieldViolation)).toBe(field);
  });

  it.each([
    { query: 'string_value=a', to: binding('/v1/echo', '*'), why: 'all fields come in the body' },
    { query: 'nothing=a', to: binding('/v1/echo', '*'), why: 'all fields come in the body' },
    { query: 'nested.genre=1', to: binding('/v1/echo', 'nested'), why: 'the field comes in the body' },
    { query: 'stringValue=a', to: binding('/v1/{string_value}'), why: 'the field comes in the path' },
    { query: 'nested.genre=1', to: binding('/v1/{nested.genre}'), why: 'the nested field comes in the path' },
  ])('$query is refused, since $why', ({ query, to }) => {
    expect(found(query, to)).toEqual([expect.objectContaining({ field: query.split('=')[0] })]);
  });

  it('may set the siblings of a field in the path', () => {
    expect(found('nested.genre=1', binding('/v1/{nested.string_value}'))).toEqual([['nested.genre', 1]]);
  });

  it('reports every wrong parameter at once', () => {
    expect(found('a=1&string_value=x&bool_value=2')).toEqual([
      { field: 'a', description: 'Must be a known parameter; got "a".' },
      ['string_value', 'x'],
      { field: 'bool_value', description: 'Must be true or false; got "2".' },
    ]);
  });

  it.each([
    {
      query: `genre=${'%22'.repeat(100)}`,
      description: `Must be one of GENRE_UNSPECIFIED, GENRE_POETRY, GENRE_PROSE; got "${'\\"'.repeat(64)}…".`,
    },
    {
      query: 'bool_value=true%E2%80%8B%0A',
      description: 'Must be true or false; got "true\\u{200b}\\u{a}".',
    },
    {
      query: `${'nested.'.repeat(48)}string_value=a`,
      description: 'Must have at most 48 levels; got 49.',
    },
  ])('$query is refused with what is allowed, then what came: $description', ({ query, description }) => {
    expect(found(query).at(-1)).toMatchObject({ description });
  });
});
