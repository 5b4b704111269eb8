import {
  create,
  type JsonObject,
  type Message,
  type MessageInitShape,
  setExtension,
  toBinary,
} from '@bufbuild/protobuf';
import {
  type DescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as FieldType,
  FieldOptionsSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { field_behavior, FieldBehavior } from '../../src/gen/google/api/field_behavior_pb.js';
import {
  describe as describeContract,
  type Operation,
  type Parameter,
  type Schema,
} from '../../src/openapi.js';

type Proto = Exclude<MessageInitShape<typeof DescriptorProtoSchema>, Message>;
type Field = NonNullable<Proto['field']>[number];

/** A string field or, with the name of a message of the package `a`, one of that message. */
const field = (number: number, name: string, message?: string, more: object = {}): Field => ({
  name,
  jsonName: name,
  number,
  label: Label.OPTIONAL,
  ...(message === undefined
    ? { type: FieldType.STRING }
    : { type: FieldType.MESSAGE, typeName: `.a.${message}` }),
  ...more,
});

/** The operations of a method whose request is the first message, and its note. */
function operationsOf(messageType: Proto[], ...rules: JsonObject[]): Operation[] {
  const [{ name = '' } = {}] = messageType;
  const method = rules.map((_, index) => ({
    name: `Call${index}`,
    inputType: `.a.${name}`,
    outputType: `.a.${name}`,
  }));
  const file = {
    name: 'a.proto',
    package: 'a',
    syntax: 'proto3',
    messageType,
    service: [{ name: 'S', method }],
  };
  const descriptorSet = toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: [file] }));
  const { paths } = describeContract({
    descriptorSet,
    rules: rules.map((rule, index) => ({ selector: `a.S.Call${index}`, ...rule })),
  });
  return Object.values(paths).flatMap((item) => Object.values<Operation>(item));
}

const queryOf = (operation: Operation | undefined): string[] =>
  (operation?.parameters ?? [])
    .filter((parameter): parameter is Parameter => 'in' in parameter && parameter.in === 'query')
    .map(({ name }) => name);

const bodyOf = ({ requestBody }: Operation): string[] => {
  const { properties } = requestBody?.content['application/json']?.schema as { properties: Schema };
  return Object.keys(properties);
};

describe('of a oneof, only one field may be set, so that an operation offers', () => {
  const choice = { oneofIndex: 0 };
  const messages: Proto[] = [
    {
      name: 'Asked',
      oneofDecl: [{ name: 'choice' }],
      field: [
        field(1, 'id', undefined, choice),
        field(2, 'inner', 'Inner', choice),
        field(3, 'alias', undefined, choice),
        field(4, 'other'),
      ],
    },
    {
      name: 'Inner',
      oneofDecl: [{ name: 'choice' }],
      field: [field(1, 'id', undefined, choice), field(2, 'alias', undefined, choice), field(3, 'other')],
    },
  ];

  it.each<[what: string, rule: JsonObject, query: string[]]>([
    [
      'all of them in the query, if the request has none',
      { get: '/v1' },
      ['id', 'inner.id', 'inner.alias', 'inner.other', 'alias', 'other'],
    ],
    ['none beside one in the path', { get: '/v1/{id}' }, ['other']],
    [
      'none beside one that a message in the path holds, at any depth',
      { get: '/v1/{inner.id}' },
      ['inner.other', 'other'],
    ],
    ['none beside one in the body', { post: '/v1', body: 'inner' }, ['other']],
    [
      'none beside one in the body and one in the path',
      { post: '/v1/{inner.id}', body: 'other' },
      ['inner.other'],
    ],
  ])('%s', (_, rule, query) => {
    const [operation] = operationsOf(messages, rule);
    expect(queryOf(operation)).toEqual(query);
  });

  it('no rivals in the body of one in the path', () => {
    const [whole, nested] = operationsOf(
      messages,
      { post: '/v1/{id}', body: '*' },
      { post: '/v2/{inner.id}', body: '*' },
    ) as [Operation, Operation];
    expect(bodyOf(whole)).toEqual(['other']);
    expect(bodyOf(nested)).toEqual(['inner', 'other']);
    expect(JSON.stringify(nested.requestBody)).not.toContain('alias');
    const [field] = operationsOf(messages, { post: '/v1/{inner.id}', body: 'inner' }) as [Operation];
    expect(bodyOf(field)).toEqual(['other']);
  });
});

it('fields that only the server sets are no query parameters, and neither is what they hold', () => {
  const options = create(FieldOptionsSchema);
  setExtension(options, field_behavior, [FieldBehavior.OUTPUT_ONLY]);
  const messages: Proto[] = [
    {
      name: 'Asked',
      field: [
        field(1, 'id'),
        field(2, 'made', undefined, { options }),
        field(3, 'state', 'State', { options }),
      ],
    },
    { name: 'State', field: [field(1, 'name')] },
  ];
  const [operation] = operationsOf(messages, { get: '/v1' });
  expect(queryOf(operation)).toEqual(['id']);
});

describe('messages that contain each other', () => {
  /** Messages each of which has a text and a field of every message. */
  const mutual = (count: number): Proto[] =>
    Array.from({ length: count }, (_, self) => ({
      name: `M${self}`,
      field: [
        field(1, 'text'),
        ...Array.from({ length: count }, (__, other) => field(other + 2, `m${other}`, `M${other}`)),
      ],
    }));

  it('have all their paths in the query if they are few, in the order of the fields', () => {
    const [operation] = operationsOf(mutual(3), { get: '/v1' });
    expect(queryOf(operation)).toEqual(['text', 'm1.text', 'm1.m2.text', 'm2.text', 'm2.m1.text']);
    expect(operation?.description).toBeUndefined();
  });

  it.each([7, 100])(
    'have at most 500 of %i messages beyond the first level, and the text says so',
    (count) => {
      const [operation] = operationsOf(mutual(count), { get: '/v1' });
      const names = queryOf(operation);
      expect(names.length).toBeGreaterThan(0);
      expect(names.length).toBeLessThanOrEqual(500);
      expect(operation?.description).toContain('Fields of messages that are nested more deeply');
    },
  );

  it('are bounded, too, where only a few of them have a text', () => {
    const messages = mutual(12).map(({ field: fields = [], ...rest }, index) => ({
      ...rest,
      field: index === 11 ? fields : fields.slice(1),
    }));
    const [operation] = operationsOf(messages, { get: '/v1' });
    expect(queryOf(operation).length).toBeLessThanOrEqual(500);
  });

  it('are cut nowhere on the first level, and below it after 500 fields', () => {
    const fields = Array.from({ length: 700 }, (_, index) => field(index + 1, `f${index}`));
    const wide = { name: 'Wide', field: fields };
    expect(queryOf(operationsOf([wide], { get: '/v1' })[0])).toHaveLength(700);
    const holder = { name: 'Holder', field: [field(1, 'own'), field(2, 'wide', 'Wide')] };
    expect(queryOf(operationsOf([holder, wide], { get: '/v1' })[0])).toEqual(['own']);
  });

  it('are described without what they contain once many operations are described with it', () => {
    const inner = Array.from({ length: 400 }, (_, index) => field(index + 1, `f${index}`));
    const messages = [
      { name: 'Asked', field: [field(1, 'own'), field(2, 'inner', 'Inner')] },
      { name: 'Inner', field: inner },
    ];
    const rules = Array.from({ length: 700 }, (_, index) => ({ get: `/v${index}` }));
    const operations = operationsOf(messages, ...rules);
    expect(queryOf(operations[0])).toHaveLength(401);
    expect(queryOf(operations.at(-1))).toEqual(['own']);
    expect(operations.at(-1)?.description).toContain('Fields of messages that are nested more deeply');
  });
});

it('messages in a chain that is longer than the call stack are bounded in the query', () => {
  const chain = Array.from({ length: 20_000 }, (_, index) => ({
    name: `M${index}`,
    field: [field(1, 'text'), field(2, 'next', `M${(index + 1) % 20_000}`)],
  }));
  const [operation] = operationsOf(chain, { get: '/v1' });
  const names = queryOf(operation);
  expect(names.slice(0, 3)).toEqual(['text', 'next.text', 'next.next.text']);
  expect(names.length).toBeLessThanOrEqual(500);
  expect(operation?.description).toContain('Fields of messages that are nested more deeply');
});
