import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { bindingsOf } from '../../src/template/binding.js';
import { readContract } from '../../src/template/contract.js';
import { successRules } from '../../src/template/success-rules.js';
import { type HttpRule, HttpRuleSchema } from '../../src/gen/google/api/http_pb.js';
import { methodOf } from '../support/library-contract.js';

type Rule = MessageInitShape<typeof HttpRuleSchema>;
type Pattern = NonNullable<Rule['pattern']>;

const get = (value: string): Pattern => ({ case: 'get', value });
const post = (value: string): Pattern => ({ case: 'post', value });

function rule(pattern: Pattern | undefined, more: Rule = {}): HttpRule {
  return create(HttpRuleSchema, { ...(pattern === undefined ? {} : { pattern }), ...more });
}

describe('the bindings of a method', () => {
  it.each([
    { pattern: get('/a'), verb: 'GET' },
    { pattern: post('/a'), verb: 'POST' },
    { pattern: { case: 'put', value: '/a' }, verb: 'PUT' },
    { pattern: { case: 'patch', value: '/a' }, verb: 'PATCH' },
    { pattern: { case: 'delete', value: '/a' }, verb: 'DELETE' },
    { pattern: { case: 'custom', value: { kind: 'LOCK', path: '/a' } }, verb: 'LOCK' },
    { pattern: { case: 'custom', value: { kind: '*', path: '/a' } }, verb: '*' },
  ] satisfies { pattern: Pattern; verb: string }[])('answer to $verb', ({ pattern, verb }) => {
    expect(bindingsOf(methodOf('Probe.Echo'), rule(pattern)).map((binding) => binding.verb)).toEqual([verb]);
  });

  it('are the rule itself and its additional bindings, in order', () => {
    const bindings = bindingsOf(
      methodOf('Probe.Echo'),
      rule(get('/a'), { additionalBindings: [rule(post('/b'), { body: '*' }), rule(get('/c'))] }),
    );
    expect(bindings.map(({ callPath, template }) => [callPath, template.source])).toEqual([
      ['/library.v1.Probe/Echo', '/a'],
      ['/library.v1.Probe/Echo', '/b'],
      ['/library.v1.Probe/Echo', '/c'],
    ]);
  });

  it.each([
    { why: 'no HTTP method is named', rule: rule(undefined) },
    {
      why: 'the custom HTTP method is empty',
      rule: rule({ case: 'custom', value: { kind: '', path: '/a' } }),
    },
    {
      why: 'the custom HTTP method is not a token',
      rule: rule({ case: 'custom', value: { kind: 'A B', path: '/a' } }),
    },
    { why: 'the template is malformed', rule: rule(get('/a/')) },
    { why: 'the body is an unknown field', rule: rule(post('/a'), { body: 'nothing' }) },
    { why: 'the body is a nested field', rule: rule(post('/a'), { body: 'nested.nested' }) },
    { why: 'the response body is an unknown field', rule: rule(get('/a'), { responseBody: 'nothing' }) },
    { why: 'a variable is an unknown field', rule: rule(get('/{nothing}')) },
    { why: 'a variable has a JSON name', rule: rule(get('/{stringValue}')) },
    { why: 'a variable leads through an unknown field', rule: rule(get('/{nested.nothing}')) },
    { why: 'a variable leads through a scalar', rule: rule(get('/{string_value.x}')) },
    { why: 'a variable is a message', rule: rule(get('/{nested}')) },
    { why: 'a variable is a well-known message', rule: rule(get('/{time}')) },
    { why: 'a variable is repeated', rule: rule(get('/{string_list}')) },
    { why: 'a variable is a map', rule: rule(get('/{string_map}')) },
    { why: 'a variable leads through a repeated field', rule: rule(get('/{nested_list.string_value}')) },
    { why: 'a variable leads through a time', rule: rule(get('/{time.seconds}')) },
    { why: 'a variable leads through a wrapper', rule: rule(get('/{string_wrapper.value}')) },
    { why: 'a variable leads through an Any', rule: rule(get('/{any.type_url}')) },
    { why: 'a variable leads through a JSON value', rule: rule(get('/{value.string_value}')) },
    { why: 'a nested variable leads through a time', rule: rule(get('/{nested.time.nanos}')) },
    { why: 'a number cannot contain a slash', rule: rule(get('/{int32_value=a/*}')) },
    { why: 'a boolean cannot contain a slash', rule: rule(get('/{bool_value=*/*}')) },
    { why: 'a word is not a number', rule: rule(get('/{nested.double_value=only}')) },
    { why: 'two variables share a oneof', rule: rule(get('/{first_choice}/{second_choice}')) },
    {
      why: 'two variables share a nested oneof',
      rule: rule(get('/{nested.third_choice.name}/{nested.first_choice}')),
    },
    {
      why: 'a variable and the body share a oneof',
      rule: rule(post('/{first_choice}'), { body: 'third_choice' }),
    },
    { why: '** stands twice', rule: rule(get('/**/a/**')) },
    { why: '** stands twice, in a variable', rule: rule(get('/**/{string_value=**}')) },
    { why: 'a field is in path and body', rule: rule(post('/{string_value}'), { body: 'string_value' }) },
    {
      why: 'additional bindings are nested',
      rule: rule(get('/a'), {
        additionalBindings: [rule(get('/b'), { additionalBindings: [rule(get('/c'))] })],
      }),
    },
    {
      why: 'an additional binding is invalid',
      rule: rule(get('/a'), { additionalBindings: [rule(get('b'))] }),
    },
  ])('are refused with the name of the method: $why', ({ rule: wrong }) => {
    expect(() => bindingsOf(methodOf('Probe.Echo'), wrong)).toThrow(/^library\.v1\.Probe\.Echo: .*\.$/);
  });

  it.each([get('/a'), { case: 'custom', value: { kind: 'HEAD', path: '/a' } }] satisfies Pattern[])(
    'are reported if they cannot be served, and the others are kept: $case with a body',
    (pattern) => {
      const told: string[] = [];
      const additionalBindings = [rule(post('/b'), { body: '*' })];
      const both = rule(pattern, { body: '*', additionalBindings });
      const left = bindingsOf(methodOf('Probe.Echo'), both, (sentence) => told.push(sentence));
      expect(left.map(({ verb }) => verb)).toEqual(['POST']);
      expect(told).toEqual([expect.stringMatching(/^library\.v1\.Probe\.Echo: (?:GET|HEAD) has a body\.$/)]);
      expect(() => bindingsOf(methodOf('Probe.Echo'), both)).toThrow(/has a body\.$/);
    },
  );

  it.each([
    { path: '/{first_choice}/{nested.second_choice}', why: 'each message has a oneof of its own' },
    { path: '/{int32_value=**}', why: '** may match one segment, a number' },
    { path: '/{int32_value=7}/{bool_value=true}/{genre=GENRE_PROSE}', why: 'a literal may be a value' },
    { path: '/{string_value=a/*}/{bytes_value=b/*}', why: 'text and base64 may contain slashes' },
    { path: '/{third_choice.name}', why: 'a message may be a member of a oneof' },
    { path: '/{string_value}/{optional_string}', why: 'an optional field shares no oneof' },
  ])('are accepted with $path: $why', ({ path }) => {
    expect(bindingsOf(methodOf('Probe.Echo'), rule(get(path)))).toHaveLength(1);
  });

  it.each([
    { why: 'its fields are not in its JSON form', rule: rule(post('/{seconds}'), { body: '*' }) },
    { why: 'its fields are not in its JSON form', rule: rule(post('/a'), { body: 'seconds' }) },
    {
      why: 'its fields are not in its JSON form',
      rule: rule(post('/a'), { body: '*', responseBody: 'seconds' }),
    },
    { why: 'only a body can carry it', rule: rule(get('/a')) },
  ])('are refused if the message has its own JSON form: $why', ({ rule: wrong }) => {
    expect(() => bindingsOf(methodOf('Unsupported.TakeTime'), wrong)).toThrow(
      /^library\.v1\.Unsupported\.TakeTime: google\.protobuf\.Timestamp has a JSON form of its own, .*\.$/,
    );
    expect(bindingsOf(methodOf('Unsupported.TakeTime'), rule(post('/a'), { body: '*' }))).toHaveLength(1);
  });
});

describe('the location of a created resource', () => {
  it.each([
    { what: 'the path of the method that gets it', outputType: '.a.Shelf', location: '/shelf' },
    { what: 'unknown if that method returns another type', outputType: '.a.Book', location: undefined },
  ])('is $what', ({ outputType, location }) => {
    const method = [
      { name: 'CreateShelf', inputType: '.a.Shelf', outputType: '.a.Shelf' },
      { name: 'GetShelf', inputType: '.a.Shelf', outputType },
    ];
    const messageType = [{ name: 'Shelf' }, { name: 'Book' }];
    const file = [{ name: 'a.proto', package: 'a', messageType, service: [{ name: 'S', method }] }];
    const { bindings } = readContract(
      toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file })),
      {
        rules: [
          { selector: 'a.S.CreateShelf', post: '/shelves', body: '*' },
          { selector: 'a.S.GetShelf', get: '/shelf' },
        ],
      },
    );
    const created = [...successRules(bindings).values()].find(({ creates }) => creates);
    expect(created?.location?.template.source).toBe(location);
  });
});
