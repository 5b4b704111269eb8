import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { beforeEach, describe, expect, it } from 'vitest';
import { describe as describeContract } from '../src/openapi.js';
import { type Echo, startEcho } from './support/echo.js';
import { legacyDescriptorSet } from './support/library-contract.js';

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
