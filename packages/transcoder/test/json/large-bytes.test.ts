import { create, fromJson, type JsonValue, toBinary } from '@bufbuild/protobuf';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import { expect, it } from 'vitest';
import { JsonOutput } from '../../src/json/json-output.js';
import { registry, typeOf } from '../support/library-contract.js';

const output = new JsonOutput(registry, { omit: 'defaults' });
const LARGE = Buffer.alloc(3_000, 'large').toString('base64');
const SMALL = Buffer.from('small').toString('base64');

const EVERYTHING = 'type.googleapis.com/library.v1.Everything';

/** The JSON text of the message with the given JSON form; as UTF-8 if large bytes were taken out of it. */
function written(json: JsonValue, type: string): string | Uint8Array {
  const schema = typeOf(type);
  return output.text(schema, fromJson(schema, json, { registry }));
}

it.each([
  { what: 'a field', json: { bytesValue: LARGE } },
  { what: 'a field, if they are short', json: { bytesValue: SMALL } },
  {
    what: 'two places',
    json: { bytesValue: LARGE, nested: { bytesValue: `${LARGE}AAAA` }, bytesList: [SMALL, LARGE] },
  },
  { what: 'a list', json: { nestedList: [{ bytesValue: LARGE }, {}, { bytesValue: SMALL }] } },
  { what: 'a map', json: { nestedMap: { 1: { bytesValue: LARGE } }, bytesMap: { a: LARGE, b: SMALL } } },
  { what: 'a wrapper', json: { bytesWrapper: LARGE } },
  { what: 'an Any', json: { any: { '@type': EVERYTHING, bytesValue: LARGE } } },
  {
    what: 'an Any in an Any',
    json: { any: { '@type': EVERYTHING, any: { '@type': EVERYTHING, bytesList: [LARGE, SMALL] } } },
  },
  { what: 'an Any, if they are short', json: { any: { '@type': EVERYTHING, bytesValue: SMALL } } },
])('bytes in $what are written as protobuf writes them, and apart if they are large', ({ json }) => {
  const text = written(json, 'library.v1.Everything');
  expect(JSON.parse(String(text))).toEqual(json);
  expect(typeof text === 'string').toBe(!JSON.stringify(json).includes(LARGE));
});

it('an Any without bytes is unchanged, and so is an empty one', () => {
  const any = { '@type': 'type.googleapis.com/library.v1.Book', title: 'T'.repeat(3_000) };
  expect(JSON.parse(String(written({ any, nested: { any: {} } }, 'library.v1.Everything')))).toEqual({
    any,
    nested: { any: {} },
  });
});

it.each([0, 5, 3_000])('an Any of an unknown type has its %d bytes as base64', (length) => {
  const schema = typeOf('library.v1.Everything');
  const told: string[] = [];
  const telling = new JsonOutput(registry, { omit: 'defaults' }, (typeUrl) => told.push(typeUrl));
  const typeUrl = 'type.googleapis.com/nobody.Knows';
  const value = Buffer.alloc(length, 'x');
  const any = create(AnySchema, { typeUrl, value });
  const holder = create(AnySchema, {
    typeUrl: EVERYTHING,
    value: toBinary(schema, create(schema, { any, stringValue: 'beside' })),
  });
  const message = create(schema, { any, nested: create(schema, { any: holder }) });
  const form = { '@type': typeUrl, value: value.toString('base64') };
  expect(JSON.parse(String(telling.text(schema, message)))).toEqual({
    any: form,
    nested: { any: { '@type': EVERYTHING, stringValue: 'beside', any: form } },
  });
  expect(told).toEqual([typeUrl, typeUrl]);
});

it.each([
  { '@type': EVERYTHING, stringValue: 'a', any: { '@type': EVERYTHING, int32Value: 1 } },
  { '@type': 'type.googleapis.com/google.protobuf.Timestamp', value: '2026-01-02T03:04:05Z' },
  { '@type': 'type.googleapis.com/google.protobuf.BytesValue', value: SMALL },
])('an Any has its type first: %j', (any) => {
  expect(written({ any }, 'library.v1.Everything')).toBe(JSON.stringify({ any }));
});

it('a message without bytes is unchanged', () => {
  expect(written({ title: 'T' }, 'library.v1.Book')).toBe('{"title":"T"}');
});
