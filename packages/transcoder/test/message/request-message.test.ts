import { create, toJson, type JsonValue } from '@bufbuild/protobuf';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { HttpRuleSchema } from '../../src/gen/google/api/http_pb.js';
import { type Binding, bindingsOf } from '../../src/template/binding.js';
import { RequestMessages } from '../../src/message/request-message.js';
import { firstOf, messageType, methodOf, registry } from '../support/library-contract.js';
import { refusal, wrongFields } from '../support/refusal.js';

const requests = new RequestMessages(registry);

function binding(path: string, body = ''): Binding {
  return firstOf(
    bindingsOf(
      methodOf('Probe.Echo'),
      create(HttpRuleSchema, { pattern: { case: 'post', value: path }, body }),
    ),
  );
}

interface Parts {
  readonly template: string;
  readonly body?: string;
  readonly path: string;
  readonly query?: string;
  readonly json?: JsonValue;
}

const read = ({ template, body, path, query = '', json }: Parts): JsonValue =>
  toJson(
    messageType('Everything'),
    requests.read(binding(template, body), { segments: path.split('/').slice(1), query, body: json }),
    { registry },
  );

describe('a request message', () => {
  it.each<Parts & { message: JsonValue; why: string }>([
    {
      template: '/{string_value}',
      path: '/a%20b',
      message: { stringValue: 'a b' },
      why: 'a variable fills a field',
    },
    {
      template: '/{int64_value}/{genre}/{bool_value}',
      path: '/7/GENRE_PROSE/true',
      message: { int64Value: '7', genre: 'GENRE_PROSE', boolValue: true },
      why: 'a variable has the type of its field',
    },
    {
      template: '/{nested.nested.genre}',
      path: '/2',
      message: { nested: { nested: { genre: 'GENRE_PROSE' } } },
      why: 'a variable leads into nested messages',
    },
    {
      template: '/a',
      path: '/a',
      query: 'nested.genre=1&nested.time=2026-01-02T03:04:05Z',
      message: { nested: { genre: 'GENRE_POETRY', time: '2026-01-02T03:04:05Z' } },
      why: 'parameters share a message',
    },
    {
      template: '/a',
      path: '/a',
      query: 'field_mask=string_value,nested.int32_list&nested.fieldMask=boolValue',
      message: { fieldMask: 'stringValue,nested.int32List', nested: { fieldMask: 'boolValue' } },
      why: 'a mask in a query has either case, as the clients of Google send it',
    },
    {
      template: '/a',
      body: '*',
      path: '/a',
      json: { genre: 1 },
      message: { genre: 'GENRE_POETRY' },
      why: 'the body may be the message',
    },
    {
      template: '/a',
      body: 'nested',
      path: '/a',
      json: { genre: 1 },
      query: 'genre=2',
      message: { genre: 'GENRE_PROSE', nested: { genre: 'GENRE_POETRY' } },
      why: 'the body may be a field',
    },
    { template: '/a', body: 'nested', path: '/a', json: null, message: {}, why: 'null sets no message' },
    {
      template: '/a',
      body: 'string_list',
      path: '/a',
      json: ['a'],
      message: { stringList: ['a'] },
      why: 'the body may be a list',
    },
    {
      template: '/{nested.string_value}',
      body: 'nested',
      path: '/a',
      json: { genre: 1 },
      message: { nested: { stringValue: 'a', genre: 'GENRE_POETRY' } },
      why: 'path and body share a message',
    },
    {
      template: '/{nested.string_value}',
      body: 'nested',
      path: '/a',
      json: { string_value: 'a' },
      message: { nested: { stringValue: 'a' } },
      why: 'the body may repeat the path',
    },
    {
      template: '/{int32_value}',
      body: '*',
      path: '/1.0',
      json: { int32Value: 1 },
      message: { int32Value: 1 },
      why: 'the body may repeat a number in another form',
    },
    {
      template: '/{uint64_value}',
      body: '*',
      path: '/1e19',
      json: { uint64_value: '10000000000000000000' },
      message: { uint64Value: '10000000000000000000' },
      why: 'the body may repeat a long number in another form',
    },
    {
      template: '/{double_value}/{float_value}/{nested.float_value}',
      body: '*',
      path: '/NaN/0.1/0.1',
      json: { doubleValue: 'NaN', floatValue: '1e-1', nested: { floatValue: Math.fround(0.1) } },
      message: {
        doubleValue: 'NaN',
        floatValue: Math.fround(0.1),
        nested: { floatValue: Math.fround(0.1) },
      },
      why: 'the body may repeat NaN and fractions',
    },
    {
      template: '/{genre}/{nested.genre}',
      body: '*',
      path: '/GENRE_PROSE/1',
      json: { genre: 2, nested: { genre: 'GENRE_POETRY' } },
      message: { genre: 'GENRE_PROSE', nested: { genre: 'GENRE_POETRY' } },
      why: 'the body may repeat an enum by number or name',
    },
    {
      template: '/{bytes_value}/{bool_value}',
      body: '*',
      path: '/-_8=/false',
      json: { bytesValue: '+/8', boolValue: false },
      message: { bytesValue: '+/8=' },
      why: 'the body may repeat bytes in another alphabet, and a boolean',
    },
    {
      template: '/{string_value}',
      body: '*',
      path: '/a',
      json: { stringValue: null },
      message: { stringValue: 'a' },
      why: 'null does not contradict the path',
    },
    {
      template: '/{constructor.value_of}',
      path: '/a',
      query: 'constructor.toString=b&constructor.to_string=c',
      message: { constructor: { valueOf: 'a', toString: ['b', 'c'] } },
      why: 'any name may be a field',
    },
    {
      template: '/{nested.string_value}',
      body: '*',
      path: '/a',
      json: { nested: null },
      message: { nested: { stringValue: 'a' } },
      why: 'null does not contradict the path',
    },
  ])('from $template, $path, $query and $json: $why', ({ message, ...parts }) => {
    expect(read(parts)).toEqual(message);
  });

  it.each<Parts & { fields: string[]; why: string }>([
    { template: '/{string_value}', path: '/%zz', fields: ['string_value'], why: 'an escape is malformed' },
    { template: '/{int32_value}', path: '/x', fields: ['int32_value'], why: 'it is not a number' },
    { template: '/{genre}', path: '/GENRE_NONE', fields: ['genre'], why: 'it is not an enum value' },
    {
      template: '/a',
      path: '/a',
      query: 'first_choice=a&second_choice=1',
      fields: ['second_choice'],
      why: 'a oneof takes one member',
    },
    {
      template: '/{nested.string_value}',
      body: 'nested',
      path: '/a',
      json: { stringValue: 'b' },
      fields: ['nested.string_value'],
      why: 'the body contradicts the path',
    },
    {
      template: '/{string_value}',
      body: '*',
      path: '/1',
      json: { stringValue: 1 },
      fields: ['string_value'],
      why: 'a number does not repeat a string',
    },
    {
      template: '/{int32_value}/{genre}/{bytes_value}/{bool_value}',
      body: '*',
      path: '/1/1/AQ/true',
      json: { int32Value: 2, genre: 2, bytesValue: 'Ag', boolValue: false },
      fields: ['int32_value', 'genre', 'bytes_value', 'bool_value'],
      why: 'the body contradicts the path',
    },
    {
      template: '/{genre}',
      body: '*',
      path: '/GENRE_NONE',
      json: { genre: 1 },
      fields: ['genre'],
      why: 'it is not an enum value, nor repeated',
    },
    {
      template: '/{nested.string_value}',
      body: 'nested',
      path: '/a',
      json: [],
      fields: ['nested'],
      why: 'the body is not an object',
    },
    {
      template: '/{nested.nested.genre}',
      body: '*',
      path: '/1',
      json: { nested: 7 },
      fields: ['nested'],
      why: 'the path needs a message in the body',
    },
    {
      template: '/{string_value}',
      body: '*',
      path: '/a',
      json: [],
      fields: ['*'],
      why: 'the body is not an object',
    },
    {
      template: '/a',
      body: 'string_list',
      path: '/a',
      json: ['a', 1],
      fields: ['string_list[1]'],
      why: 'an item is invalid',
    },
    {
      template: '/{int32_value}',
      body: 'nested',
      path: '/x',
      query: 'y=1&genre=z',
      json: { genre: 'z' },
      fields: ['int32_value', 'y', 'genre', 'nested.genre'],
      why: 'every invalid place is named',
    },
  ])('is refused from $template, $path, $query and $json: $why', ({ fields, ...parts }) => {
    expect(wrongFields(() => read(parts))).toEqual(fields);
  });

  const hint = 'The body is the third_choice itself; send the value of this field alone.';
  it.each<{ body: string; json: JsonValue; says: string; why: string }>([
    {
      body: 'third_choice',
      json: { third_choice: { name: 'a' } },
      says: `third_choice.third_choice: Must be a known field; got "third_choice". ${hint}`,
      why: 'the body is wrapped as in gRPC',
    },
    {
      body: 'third_choice',
      json: { second_choice: 1 },
      says: 'third_choice.second_choice: Must be a known field; got "second_choice".',
      why: 'the name is that of another field of the request',
    },
    {
      body: 'nested',
      json: { nested: { nested: { x: 1 } } },
      says: 'nested.nested.nested.x: Must be a known field; got "x".',
      why: 'nested is a valid field of nested',
    },
    {
      body: '*',
      json: { x: {} },
      says: 'x: Must be a known field; got "x".',
      why: 'the body is the whole request',
    },
  ])('is refused from the body $body of $json with $says: $why', ({ body, json, says }) => {
    const { field, description } = firstOf(
      refusal(() => read({ template: '/a', body, path: '/a', json })).violations(),
    );
    expect(`${field}: ${description}`).toBe(says);
  });

  it('is refused if path or query give another member of a oneof than the body, also one that is ignored', () => {
    const ignoring = new RequestMessages(registry, { ignoreUnknown: true });
    const descriptions = (bound: Binding, path: string, query: string, json: JsonValue): string[] => {
      const parts = { segments: path.split('/').slice(1), query, body: json };
      return refusal(() => ignoring.read(bound, parts))
        .violations()
        .map(({ field, description }) => `${field}: ${description}`);
    };
    const inPath = binding('/{first_choice}', '*');
    const inQuery = binding('/a', 'null_choice');
    expect(descriptions(inPath, '/a', '', { second_choice: 1 })).toEqual([
      'first_choice: Must be given without "second_choice"; got both.',
    ]);
    expect(descriptions(inPath, '/a', '', { nullChoice: 'NEW_NAME' })).toEqual([
      'first_choice: Must be given without "nullChoice"; got both.',
    ]);
    expect(descriptions(inQuery, '/a', 'firstChoice=a', 'NEW_NAME')).toEqual([
      'first_choice: Must be given without "nullChoice"; got both.',
    ]);
  });

  it('is refused if the bytes of path and body differ, although both are the same text in UTF-8', () => {
    const json = { bytesValue: '/g==' };
    expect(wrongFields(() => read({ template: '/{bytes_value}', body: '*', path: '/_w', json }))).toEqual([
      'bytes_value',
    ]);
  });

  it('is refused if the body has both names of a field, even if they repeat the path', () => {
    const json = { string_value: 'a', stringValue: 'a' };
    expect(wrongFields(() => read({ template: '/{string_value}', body: '*', path: '/a', json }))).toEqual([
      'string_value',
    ]);
  });

  it('is refused without decoding more of its query than the violations need', () => {
    const decode = vi.spyOn(globalThis, 'decodeURIComponent');
    onTestFinished(() => void vi.restoreAllMocks());
    const refused = refusal(() => read({ template: '/a', path: '/a', query: 'a=%zz&'.repeat(1_000) }));
    expect(decode.mock.calls.length).toBeLessThan(5);
    expect(refused.violations()).toHaveLength(100);
    expect(decode.mock.calls.length).toBeLessThan(300);
  });
});
