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
    ['its type is unknown, and its bytes are in base64', known('nobody.Knows', { value: 'AQID' })],
    ['there may be none', known('nobody.Knows', { value: '' })],
    ['the contract imports no Duration', known('google.protobuf.Duration', { value: '1s' })],
    ['null is a value', known('google.protobuf.Value', { value: null })],
    ['it is empty', known('google.protobuf.Empty', {})],
    ['it keeps its URL', typed('example.com/legacy.v1.Item', { name: 'a' })],
    ['it keeps its name', typed('legacy.v1.Item', { name: 'a' })],
    ['it holds nothing', { [ANY]: {} }],
  ])('comes back as it was sent: %s', async (_, any) => {
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
    [ANY, 'its type is unknown, and it has no bytes', known('nobody.Knows', {})],
    [ANY, 'they are not base64', known('nobody.Knows', { value: 'A' })],
    [ANY, 'they are no text', known('nobody.Knows', { value: 1 })],
    [ANY, 'there is more beside them', known('nobody.Knows', { value: '', name: '' })],
    [ANY, 'it has no type', typed('type.googleapis.com/', { value: '' })],
    [ANY, 'it has no "@type"', { [ANY]: { value: '' } }],
    [ANY, 'it is no object', { [ANY]: [] }],
    [`${ANY}.value.a`, 'an Empty has no fields', known('google.protobuf.Empty', { value: { a: 1 } })],
    [`${ANY}.value`, 'it is no object', known('google.protobuf.Empty', { value: 1 })],
    [`${ANY}.value`, 'null is no time', known('google.protobuf.Duration', { value: null })],
  ])('is refused with %s: %s', async (field, _, any) => {
    expect(await echo('POST', '/v1/open', any)).toEqual([400, [field]]);
  });
});
