import { fromBinary, type JsonObject, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { beforeEach, describe, expect, it } from 'vitest';
import { describe as describeContract } from '../src/openapi.js';
import { type Echo, startEcho } from './support/echo.js';
import { legacyDescriptorSet, namesDescriptorSet } from './support/library-contract.js';

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
    for (const { field } of set.file.flatMap(({ messageType }) => messageType))
      for (const each of field) each.jsonName = '';
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
    const thing = { name_v2: 'new', oldName: 'old', right: 3, left: 4, inner: { oldName: 'a' } };
    expect(await protoNamed('PUT', '/v1/thing', { ...THING, inner: { oldName: 'a' } })).toEqual([200, thing]);
    expect(await protoNamed('PUT', '/v1/thing', thing)).toEqual([200, thing]);
    const { components } = describeContract({ descriptorSet: namesDescriptorSet, json });
    expect(Object.keys(components.schemas['Thing']?.['properties'] as object)).toEqual([
      'name_v2',
      'oldName',
      'right',
      'left',
      'inner',
      'by_flag',
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
