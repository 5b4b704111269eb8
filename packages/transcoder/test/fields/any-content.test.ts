import type { JsonObject } from '@bufbuild/protobuf';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Echo, startEcho } from '../support/echo.js';
import { legacyDescriptorSet } from '../support/library-contract.js';

const ANY = '[legacy.v1.any]';
const typed = (type: string, content: JsonObject): JsonObject => ({ [ANY]: { '@type': type, ...content } });
const known = (name: string, content: JsonObject): JsonObject =>
  typed(`type.googleapis.com/${name}`, content);

describe('a google.protobuf.Any', () => {
  let echo: Echo;
  beforeEach(async () => {
    echo = await startEcho({ descriptorSet: legacyDescriptorSet, json: { omit: 'defaults' } });
  });

  it.each([
    {
      any: known('nobody.Knows', { value: 'AQID' }),
      why: 'its type is unknown, and its bytes are in base64',
    },
    { any: known('nobody.Knows', { value: '' }), why: 'there may be none' },
    { any: known('google.protobuf.Duration', { value: '1s' }), why: 'the contract imports no Duration' },
    { any: known('google.protobuf.Value', { value: null }), why: 'null is a value' },
    { any: known('google.protobuf.Empty', {}), why: 'it is empty' },
    { any: typed('example.com/legacy.v1.Item', { name: 'a' }), why: 'it keeps its URL' },
    { any: typed('legacy.v1.Item', { name: 'a' }), why: 'it keeps its name' },
    { any: { [ANY]: {} }, why: 'it holds nothing' },
  ])('comes back as it was sent: $why', async ({ any }) => {
    expect(await echo('POST', '/v1/open', any)).toEqual([200, any]);
  });

  it('may have an Empty as its value, as Go writes it', async () => {
    const empty = known('google.protobuf.Empty', {});
    expect(await echo('POST', '/v1/open', known('google.protobuf.Empty', { value: {} }))).toEqual([
      200,
      empty,
    ]);
  });

  it.each([
    { any: known('nobody.Knows', {}), field: ANY, why: 'its type is unknown, and it has no bytes' },
    { any: known('nobody.Knows', { value: 'A' }), field: ANY, why: 'they are not base64' },
    { any: known('nobody.Knows', { value: 1 }), field: ANY, why: 'they are no text' },
    { any: known('nobody.Knows', { value: '', name: '' }), field: ANY, why: 'there is more beside them' },
    { any: typed('type.googleapis.com/', { value: '' }), field: ANY, why: 'it has no type' },
    { any: { [ANY]: { value: '' } }, field: ANY, why: 'it has no "@type"' },
    { any: { [ANY]: [] }, field: ANY, why: 'it is no object' },
    {
      any: known('google.protobuf.Empty', { value: { a: 1 } }),
      field: `${ANY}.a`,
      why: 'an Empty has no fields',
    },
    { any: known('google.protobuf.Empty', { value: 1 }), field: `${ANY}.value`, why: 'it is no object' },
    {
      any: known('google.protobuf.Duration', { value: null }),
      field: `${ANY}.value`,
      why: 'null is no time',
    },
  ])('is refused with $field: $why', async ({ any, field }) => {
    expect(await echo('POST', '/v1/open', any)).toEqual([400, [field]]);
  });
});
