import { create, type JsonObject, type JsonValue, toJson } from '@bufbuild/protobuf';
import { reflect } from '@bufbuild/protobuf/reflect';
import { describe, expect, it } from 'vitest';
import { HttpRuleSchema } from '../../src/gen/google/api/http_pb.js';
import { bindingsOf } from '../../src/template/binding.js';
import type { FieldViolation } from '../../src/failures/failure.js';
import { type QueryParameter, queryParameters } from '../../src/message/query-parameters.js';
import { StrictJson } from '../../src/json/json-input.js';
import { Violations } from '../../src/json/violations.js';
import { firstOf, methodOf, registry } from '../support/library-contract.js';
import { wrongField } from '../support/refusal.js';

/** How many levels a name may have, as deep as JSON may nest, and how many characters of it an error shows. */
const MAX_LEVELS = 48;
const SHOWN_CHARACTERS = 64;

const GIVEN_AGAIN = 'Must be given once; got it again.';
const IN_BODY = 'Must be given in the body; got it in the query.';
const IN_PATH = 'Must be given in the path; got it in the query.';

/** A binding of a method that echoes its request. @param body as in an HttpRule. Default: none */
function binding(path: string, body = ''): Parameters<typeof queryParameters>[0] {
  const rule = create(HttpRuleSchema, { pattern: { case: 'post', value: path }, body });
  return firstOf(bindingsOf(methodOf('Probe.Echo'), rule));
}

/** The parameters of a query, each as its field's path and JSON value, or as the violation for which it is refused. */
function parametersOf(query: string, target = binding('/v1/echo')): ReturnType<typeof readParameter>[] {
  const lenient = false;
  return [...queryParameters(target, query, lenient)].map(readParameter);
}

/**
 * Reads a parameter into its field, as a request message does: only the reader refuses most wrong values. Returns the field's path and its value in JSON, or the
 * violation: that of the parameter, or that of the value.
 */
function readParameter(parameter: QueryParameter | FieldViolation): [string, JsonValue] | FieldViolation {
  if ('description' in parameter) return parameter;
  const { parents, field, value } = parameter;
  const violations = new Violations();
  const holder = reflect(field.parent);
  const json = field.fieldKind === 'list' ? [value] : value;
  new StrictJson(registry).readField(holder, field, json, violations);
  const [violation] = violations;
  if (violation !== undefined) return violation;

  const message = toJson(field.parent, holder.message, { alwaysEmitImplicit: true });
  const valueRead = (message as JsonObject)[field.jsonName] as JsonValue;
  return [
    [...parents, field].map(({ name }) => name).join('.'),
    Array.isArray(valueRead) ? (valueRead[0] as JsonValue) : valueRead,
  ];
}

/** The violation for which the last parameter of a query is refused. */
function lastViolation(query: string): FieldViolation {
  return parametersOf(query).at(-1) as FieldViolation;
}

describe('a query', () => {
  it.each([
    ['', 'it may be empty', []],
    ['&&', 'empty parameters are skipped', []],
    ['string_value=a', 'proto names are taken', [['string_value', 'a']]],
    ['stringValue=a', 'JSON names are taken', [['string_value', 'a']]],
    ['Odd=a', 'the JSON name is that of the contract', [['odd_name', 'a']]],
    ['string_value', 'without =, the value is empty', [['string_value', '']]],
    ['string_value=a=b', 'the first = separates', [['string_value', 'a=b']]],
    ['string_value=a+b%2Bc', 'a plus is a space', [['string_value', 'a b+c']]],
    ['string%5Fvalue=%F0%9F%93%9A', 'escapes are UTF-8', [['string_value', '📚']]],
    ['nested.nested.bool_value=true', 'dots lead into nested messages', [['nested.nested.bool_value', true]]],
    ['thirdChoice.name=a', 'dots lead into a message in a oneof', [['third_choice.name', 'a']]],
    [
      'int32_list=1&int32List=2',
      'a repeated field may be repeated',
      [
        ['int32_list', 1],
        ['int32_list', 2],
      ],
    ],
    ['genre=GENRE_PROSE', 'enums may be names', [['genre', 'GENRE_PROSE']]],
    ['genre=2', 'enums may be numbers', [['genre', 'GENRE_PROSE']]],
    [
      'genre_list=1&genre_list=GENRE_PROSE',
      'repeated enums are taken',
      [
        ['genre_list', 'GENRE_POETRY'],
        ['genre_list', 'GENRE_PROSE'],
      ],
    ],
    [
      'double_value=-1.5e3&float_value=NaN',
      'floats may have an exponent or be NaN',
      [
        ['double_value', -1500],
        ['float_value', 'NaN'],
      ],
    ],
    [
      'double_value=Infinity&float_value=-Infinity',
      'floats may be infinite',
      [
        ['double_value', 'Infinity'],
        ['float_value', '-Infinity'],
      ],
    ],
    [
      'int64_value=9007199254740993&uint64_value=1.8446744073709551615e19',
      'no digit of an integer is lost',
      [
        ['int64_value', '9007199254740993'],
        ['uint64_value', '18446744073709551615'],
      ],
    ],
    [
      'int32_value=-0.0',
      'an integer may be written as a negative zero with a fraction',
      [['int32_value', 0]],
    ],
    ['genre=1e0', 'enum numbers have the forms of numbers', [['genre', 'GENRE_POETRY']]],
    ['bytes_value=-_8', 'base64url is taken', [['bytes_value', '+/8=']]],
    ['bytes_value=AQI%3D', 'bytes are base64', [['bytes_value', 'AQI=']]],
    ['time=2026-01-02T03:04:05Z', 'a time is a string', [['time', '2026-01-02T03:04:05Z']]],
    ['time_list=2026-01-02T03:04:05Z', 'repeated times are taken', [['time_list', '2026-01-02T03:04:05Z']]],
    [
      'duration=1.5s&field_mask=a,bC',
      'durations and masks are strings',
      [
        ['duration', '1.500s'],
        ['field_mask', 'a,bC'],
      ],
    ],
    [
      'string_wrapper=a&int64_wrapper=1&bool_wrapper=false',
      'a wrapper is its value',
      [
        ['string_wrapper', 'a'],
        ['int64_wrapper', '1'],
        ['bool_wrapper', false],
      ],
    ],
    ['string_value=%00', 'NUL is left to the server to refuse', [['string_value', '\0']]],
  ])('%s: %s', (query, _, parameters) => {
    expect(parametersOf(query)).toEqual(parameters);
  });

  it.each([
    ['nothing=1', 'the method has no such field', 'nothing'],
    ['=1', 'the name is empty', ''],
    ['access_token=secret', 'a token is not a field', 'access_token'],
    ['STRING_VALUE=1', 'names are case-sensitive', 'STRING_VALUE'],
    ['nested.nothing=1', 'the nested message has no such field', 'nested.nothing'],
    ['nested.=1', 'the name of the nested field is empty', 'nested.'],
    ['string_value.x=1', 'a string has no fields', 'string_value.x'],
    ['nested=1', 'a message has no text form', 'nested'],
    ['nested_list=1', 'a repeated message has no text form', 'nested_list'],
    ['nested_list.string_value=1', 'dots do not lead into repeated messages', 'nested_list.string_value'],
    ['string_map=1', 'a map has no text form', 'string_map'],
    ['string_map.a=1', 'dots do not lead into maps', 'string_map.a'],
    ['struct=%7B%7D', 'a Struct has no text form', 'struct'],
    ['time.seconds=1', 'a time is a single string', 'time.seconds'],
    ['string_wrapper.value=1', 'a wrapper is a single value', 'string_wrapper.value'],
    ['no%74hing+=1', 'the method has no field with the decoded name', 'nothing '],
    [
      `${'x'.repeat(100)}=1`,
      'the method has no such field, whose name the error cuts short',
      `${'x'.repeat(SHOWN_CHARACTERS)}…`,
    ],
  ])('%s is unknown, since %s', (query, _, field) => {
    expect(wrongField(lastViolation(query))).toBe(field);
    expect(lastViolation(query).description).toContain('Must be a known parameter');
  });

  it.each([
    ['string_value=a&string_value=b', 'a field that is not repeated takes one value', 'string_value'],
    ['string_value=a&stringValue=a', 'both names are of the same field', 'stringValue'],
    ['nested.genre=1&nested.genre=1', 'a nested field that is not repeated takes one value', 'nested.genre'],
  ])('%s is given again, since %s', (query, _, field) => {
    expect(wrongField(lastViolation(query))).toBe(field);
    expect(lastViolation(query).description).toBe(GIVEN_AGAIN);
  });

  it.each([
    ['bool_value=TRUE', 'booleans are true or false', 'bool_value'],
    ['bool_value', 'an empty value is not a boolean', 'bool_value'],
    ['bool_wrapper=1', 'wrapped booleans are true or false', 'bool_wrapper'],
    ['int32_value=0x10', 'numbers are decimal', 'int32_value'],
    ['int32_value=', 'an empty value is not a number', 'int32_value'],
    ['uint64_value=NaN', 'NaN is not an integer', 'uint64_value'],
    ['double_value=Inf', 'infinity is spelled out', 'double_value'],
    ['int64_wrapper=%2B1', 'numbers have no plus sign', 'int64_wrapper'],
    ['bytes_value=A', 'one base64 digit encodes no byte', 'bytes_value'],
    ['genre=GENRE_NONE', 'the enum has no such value', 'genre'],
    ['genre_list=genre_poetry', 'the names of enum values are case-sensitive', 'genre_list'],
    ['time=2001-02-29T00:00:00Z', 'the calendar has no such day', 'time'],
    ['field_mask=b_c', 'the paths of a mask are in camel case', 'field_mask'],
    ['duration=1.5', 'a duration has a unit', 'duration'],
  ])('%s is no value of its field, since %s', (query, _, field) => {
    expect(wrongField(lastViolation(query))).toBe(field);
  });

  it.each([
    ['string_value=%zz', 'the escape is malformed', 'string_value'],
    ['string_value=%ff', 'the escaped byte is not UTF-8', 'string_value'],
    ['string_value=%ed%a0%80', 'an escaped surrogate is not UTF-8', 'string_value'],
    ['string_value=\u00e9', 'characters beyond ASCII must be escaped', 'string_value'],
    ['%zz=1', 'the escape in the name is malformed', '%zz'],
  ])('%s cannot be decoded, since %s', (query, _, field) => {
    expect(wrongField(lastViolation(query))).toBe(field);
    expect(lastViolation(query).description).toContain('Must be percent-encoded UTF-8');
  });

  it('has names of at most as many levels as JSON', () => {
    const name = `${'nested.'.repeat(MAX_LEVELS)}string_value`;
    expect(lastViolation(`${name}=a`)).toEqual({
      field: `${name.slice(0, SHOWN_CHARACTERS)}…`,
      description: `Must have at most ${MAX_LEVELS} levels; got ${MAX_LEVELS + 1}.`,
    });
  });

  it.each([
    ['string_value=a', 'all fields come in the body', binding('/v1/echo', '*'), IN_BODY],
    ['nothing=a', 'all fields come in the body', binding('/v1/echo', '*'), IN_BODY],
    ['nested.genre=1', 'the field comes in the body', binding('/v1/echo', 'nested'), IN_BODY],
    ['stringValue=a', 'the field comes in the path', binding('/v1/{string_value}'), IN_PATH],
    ['nested.genre=1', 'the nested field comes in the path', binding('/v1/{nested.genre}'), IN_PATH],
  ])('%s is refused, since %s', (query, _, target, description) => {
    expect(parametersOf(query, target)).toEqual([{ field: query.split('=')[0], description }]);
  });

  it('may set the siblings of a field in the path', () => {
    expect(parametersOf('nested.genre=1', binding('/v1/{nested.string_value}'))).toEqual([
      ['nested.genre', 'GENRE_POETRY'],
    ]);
  });

  it('reports every wrong parameter at once', () => {
    expect(parametersOf('a=1&string_value=x&bool_value=2')).toEqual([
      { field: 'a', description: 'Must be a known parameter; got "a".' },
      ['string_value', 'x'],
      { field: 'bool_value', description: 'Must be true or false; got "2".' },
    ]);
  });

  it.each([
    {
      query: `genre=${'%22'.repeat(100)}`,
      description: `Must be one of GENRE_UNSPECIFIED, GENRE_POETRY, GENRE_PROSE; got "${'\\"'.repeat(SHOWN_CHARACTERS)}…".`,
    },
    {
      query: 'bool_value=true%E2%80%8B%0A',
      description: 'Must be true or false; got "true\\u{200b}\\u{a}".',
    },
  ])('$query is refused with what is allowed, then what came: $description', ({ query, description }) => {
    expect(lastViolation(query)).toMatchObject({ description });
  });
});
