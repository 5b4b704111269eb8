import { fromBinary, type JsonObject, type JsonValue, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { beforeEach, describe, expect, it } from 'vitest';
import { describe as describeContract } from '../../src/openapi.js';
import { type Echo, startEcho } from '../support/echo.js';
import { legacyDescriptorSet, namesDescriptorSet } from '../support/library-contract.js';

const THING = { name: 'new', oldName: 'old', right: 3, left: 4 };

describe('a name that is the JSON name of one field and the proto name of another', () => {
  let echo: Echo;
  beforeEach(async () => {
    echo = await startEcho({ descriptorSet: namesDescriptorSet, json: { omit: 'defaults' } });
  });

  it.each<JsonObject>([
    { name: 'new' },
    { oldName: 'old' },
    THING,
    { inner: THING },
    { left: 1 },
    { right: 1 },
  ])('is that of the first in a body, so that %j comes back', async (thing) => {
    expect(await echo('PUT', '/v1/thing', thing)).toEqual([200, thing]);
  });

  it('is the default one in a descriptor set without JSON names', async () => {
    const set = fromBinary(FileDescriptorSetSchema, namesDescriptorSet);
    for (const { field: fields } of set.file.flatMap(({ messageType }) => messageType))
      for (const field of fields) field.jsonName = '';
    const descriptorSet = toBinary(FileDescriptorSetSchema, set);
    const bare = await startEcho({ descriptorSet, json: { omit: 'defaults' } });
    const thing = { nameV2: 'new', name: 'old', left: 1 };
    expect(await bare('PUT', '/v1/thing', thing)).toEqual([200, thing]);
  });

  it('may be that of a map whose keys are true and false', async () => {
    const thing = { byFlag: { true: 'a', false: 'b' } };
    expect(await echo('PUT', '/v1/thing', thing)).toEqual([200, thing]);
    expect((await echo('PUT', '/v1/thing', { byFlag: { yes: 'a' } }))[0]).toBe(400);
  });

  it('leaves the proto name of the first, which no other field has', async () => {
    expect(await echo('PUT', '/v1/thing', { name_v2: 'new' })).toEqual([200, { name: 'new' }]);
  });

  it('is that of the first in a query', async () => {
    const query = 'name=new&oldName=old&inner.name_v2=inner&inner.left=1';
    const thing = { name: 'new', oldName: 'old', inner: { name: 'inner', left: 1 } };
    expect(await echo('GET', `/v1/thing?${query}`)).toEqual([200, thing]);
  });

  it('is that of the first beside a path variable', async () => {
    const thing = { oldName: 'old', right: 3 };
    expect(await echo('PATCH', '/v1/things/new', thing)).toEqual([200, { thing: { name: 'new', ...thing } }]);
    expect(await echo('PATCH', '/v1/things/new', { name: 'other' })).toEqual([400, ['thing.name_v2']]);
    expect(await echo('PATCH', '/v1/things/new', { name_v2: 'new' })).toEqual([
      200,
      { thing: { name: 'new' } },
    ]);
  });

  it('is that of the first in violations', async () => {
    const thing = { name: 1, oldName: 2, inner: { left: 'a' } };
    expect(await echo('PUT', '/v1/thing', thing)).toEqual([400, ['name_v2', 'name', 'inner.right']]);
    expect(await echo('PUT', '/v1/thing', { name: 'a', name_v2: 'a' })).toEqual([400, ['name_v2']]);
  });

  it('is that of the first in the mask that a body implies', async () => {
    const lenient = await startEcho({ descriptorSet: namesDescriptorSet, lenient: true });
    const [, json] = await lenient('PATCH', '/v1/things/new', { name: 'new', left: 1 });
    expect(json).toMatchObject({ updateMask: 'nameV2,right' });
  });

  it('is not written for the second by protoNames, so that a response can be sent back', async () => {
    const json = { omit: 'defaults', protoNames: true } as const;
    const protoNamed = await startEcho({ descriptorSet: namesDescriptorSet, json });
    const parts = { inner: { oldName: 'a' }, replacement: { oldName: 'b' } };
    const thing = { name_v2: 'new', oldName: 'old', right: 3, left: 4, ...parts };
    expect(await protoNamed('PUT', '/v1/thing', { ...THING, ...parts })).toEqual([200, thing]);
    expect(await protoNamed('PUT', '/v1/thing', thing)).toEqual([200, thing]);
    const { components } = describeContract({ descriptorSet: namesDescriptorSet, json });
    expect(Object.keys(components.schemas['Thing']?.['properties'] as object)).toEqual([
      'name_v2',
      'oldName',
      'right',
      'left',
      'inner',
      'by_flag',
      'replacement',
    ]);
  });
});

describe('two fields with the same JSON name', () => {
  it('are written apart, one under its proto name', async () => {
    const echo = await startEcho({ descriptorSet: legacyDescriptorSet, json: { omit: 'defaults' } });
    const open = { foo_bar: 'a', fooBar: 'b' };
    expect(await echo('POST', '/v1/open', open)).toEqual([200, open]);
  });
});

const of = (name: string, value: JsonValue): JsonObject => ({ [`[legacy.v1.${name}]`]: value });
const UNKNOWN = { '@type': 'type.googleapis.com/nobody.Knows', value: 'AQID' };

describe('an extension', () => {
  let echo: Echo;
  beforeEach(async () => {
    echo = await startEcho({ descriptorSet: legacyDescriptorSet, json: { omit: 'defaults' } });
  });

  it.each([
    of('long', '9007199254740993'),
    of('int', -1),
    of('ratio', 0.1),
    of('time', '2023-02-28T00:00:00Z'),
    of('any', UNKNOWN),
    of('content', 'A'.repeat(4_000)),
    of('kind', 'KIND_NEW'),
    of('longs', ['9007199254740993', '1']),
    of('inner', of('inner', { fooBar: 'a', ...of('ratio', 0.3) })),
  ])('comes back as it was sent: %j', async (json) => {
    expect(await echo('POST', '/v1/open', json)).toEqual([200, json]);
  });

  it.each([
    { json: of('long', '9007199254740993.5'), fields: ['[legacy.v1.long]'], why: 'it is not whole' },
    { json: of('int', '0x10'), fields: ['[legacy.v1.int]'], why: 'JSON has no such number' },
    { json: of('time', '2023-02-30T00:00:00Z'), fields: ['[legacy.v1.time]'], why: 'there is no such day' },
    { json: of('kind', 'KIND_OLD'), fields: ['[legacy.v1.kind]'], why: 'there is no such value' },
    { json: of('longs', [1, 1.5]), fields: ['[legacy.v1.longs][1]'], why: 'an item is not whole' },
    { json: of('content', '*'), fields: ['[legacy.v1.content]'], why: 'it is not base64' },
    { json: of('item', {}), fields: ['[legacy.v1.item].name'], why: 'proto2 requires a field in it' },
    { json: of('nobody', 1), fields: ['[legacy.v1.nobody]'], why: 'there is no such extension' },
    { json: of('inner', of('int', 'a')), fields: ['[legacy.v1.inner].[legacy.v1.int]'], why: 'it is nested' },
  ])('is checked as a field is: $why', async ({ json, fields }) => {
    expect(await echo('POST', '/v1/open', json)).toEqual([400, fields]);
  });

  it('of another message is an unknown field', async () => {
    expect(await echo('POST', '/v1/orders', { id: 'a', ...of('int', 1) })).toEqual([
      400,
      ['[legacy.v1.int]'],
    ]);
  });

  it('that is null is absent', async () => {
    expect(await echo('POST', '/v1/open', of('int', null))).toEqual([200, {}]);
  });

  it('has its digits when a number is larger than those of JavaScript', async () => {
    const response = await echo('POST', '/v1/open', of('long', '9.007199254740993e15'));
    expect(response).toEqual([200, of('long', '9007199254740993')]);
  });

  it('is described as a field is', () => {
    const { components } = describeContract({ descriptorSet: legacyDescriptorSet });
    expect(components.schemas['OpenInput']?.['properties']).toMatchObject({
      '[legacy.v1.int]': { type: ['integer', 'null'] },
      '[legacy.v1.long]': { type: ['string', 'null'] },
      '[legacy.v1.inner]': { anyOf: [{ $ref: '#/components/schemas/OpenInput' }, { type: 'null' }] },
    });
  });
});
