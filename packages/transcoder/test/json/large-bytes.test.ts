import { create, fromJson, type JsonValue } from '@bufbuild/protobuf';
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

it('an Any of an unknown type has no JSON form', () => {
  const schema = typeOf('library.v1.Everything');
  const any = { typeUrl: 'type.googleapis.com/nobody.Knows', value: new Uint8Array(3_000) };
  const message = create(schema, { any: create(AnySchema, any) });
  expect(() => output.text(schema, message)).toThrow('nobody.Knows');
});

it('a message without bytes is unchanged', () => {
  expect(written({ title: 'T' }, 'library.v1.Book')).toBe('{"title":"T"}');
});
