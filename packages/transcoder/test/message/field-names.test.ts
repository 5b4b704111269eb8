import { create, createFileRegistry, type MessageInitShape, toJson } from '@bufbuild/protobuf';
import {
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  type FieldDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { HttpRuleSchema } from '../../src/gen/google/api/http_pb.js';
import { RequestMessages } from '../../src/message/request-message.js';
import { bindingsOf } from '../../src/template/binding.js';
import { firstOf, messageType, methodOf, registry } from '../support/library-contract.js';

type Field = MessageInitShape<typeof FieldDescriptorProtoSchema>;

const text = (name: string, number: number, jsonName: string): Field => ({
  name,
  number,
  jsonName,
  type: Type.STRING,
  label: Label.OPTIONAL,
});
const message = (name: string, number: number, jsonName: string): Field => ({
  ...text(name, number, jsonName),
  type: Type.MESSAGE,
  typeName: '.odd.Odd',
});

/** A contract with field names that are legal and unusual. */
const odd = createFileRegistry(
  create(FileDescriptorSetSchema, {
    file: [
      {
        name: 'odd.proto',
        package: 'odd',
        syntax: 'proto3',
        messageType: [
          {
            name: 'Odd',
            field: [
              text('own', 1, '__proto__'),
              text('dotted', 2, 'a.b'),
              text('b', 3, 'b'),
              message('a', 4, 'a'),
              message('holder', 5, 'x.y'),
              { ...text('many', 6, 'm.n'), label: Label.REPEATED },
              message('deep', 7, 'constructor'),
            ],
          },
        ],
        service: [{ name: 'Odds', method: [{ name: 'Get', inputType: '.odd.Odd', outputType: '.odd.Odd' }] }],
      },
    ],
  }),
);
const method = firstOf(odd.getService('odd.Odds')?.methods ?? []);
const rule = (value: string) => create(HttpRuleSchema, { pattern: { case: 'get', value } });
const requests = new RequestMessages(odd);

/** The request message for a path and a query, as JSON with proto names. */
function requestOf(path: string, segments: string[], query: string): unknown {
  const binding = firstOf(bindingsOf(method, rule(path)));
  const read = requests.read(binding, { segments, query, body: undefined });
  return toJson(method.input, read, { useProtoFieldName: true });
}

describe('a field whose JSON name', () => {
  it('is __proto__ has its value from the path', () => {
    expect(requestOf('/v1/{own}', ['v1', 'a'], '')).toEqual({ own: 'a' });
    expect(requestOf('/v1/{deep.own}', ['v1', 'a'], '')).toEqual({ deep: { own: 'a' } });
  });

  it.each([
    { query: '__proto__=a', request: { own: 'a' } },
    { query: 'own=a', request: { own: 'a' } },
    { query: 'constructor.__proto__=a', request: { deep: { own: 'a' } } },
    { query: 'a.b=a', request: { dotted: 'a' } },
    { query: 'dotted=a', request: { dotted: 'a' } },
    { query: 'a.a.b=c', request: { a: { dotted: 'c' } } },
    { query: 'a.own=c', request: { a: { own: 'c' } } },
    { query: 'x.y.b=c&x.y.a.b=d', request: { holder: { b: 'c', dotted: 'd' } } },
    { query: 'm.n=a&x.y.m.n=b&many=c', request: { many: ['a', 'c'], holder: { many: ['b'] } } },
  ])('is unusual has its value from the query $query', ({ query, request }) => {
    expect(requestOf('/v1', ['v1'], query)).toEqual(request);
  });

  it.each(['x=a', 'x.y=a', 'a.b.c=a', 'a.=a', '.a=a', 'toString=a'])('is %s is unknown', (query) => {
    expect(() => requestOf('/v1', ['v1'], query)).toThrow('The request is not valid.');
  });
});

describe('a NullValue in a query', () => {
  const binding = firstOf(bindingsOf(methodOf('Probe.Echo'), rule('/v1/echo')));
  const library = new RequestMessages(registry);

  it.each(['null', 'NULL_VALUE', '0'])('may be %s', (value) => {
    const query = `null_choice=${value}&null_list=${value}&nullValue=${value}`;
    const read = library.read(binding, { segments: [], query, body: undefined });
    expect(toJson(messageType('Everything'), read)).toEqual({ nullChoice: null, nullList: [null] });
  });

  it.each(['', 'Null', 'NULL', '"null"'])('is no other text, such as %j', (value) => {
    const read = () => library.read(binding, { segments: [], query: `null_value=${value}`, body: undefined });
    expect(read).toThrow('The request is not valid.');
  });

  it('is the text of no other enum', () => {
    const read = () => library.read(binding, { segments: [], query: 'genre=null', body: undefined });
    expect(read).toThrow('The request is not valid.');
  });
});
