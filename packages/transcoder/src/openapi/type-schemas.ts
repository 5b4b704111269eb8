import { type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { isWrapperDesc } from '@bufbuild/protobuf/wkt';
import type { Schema } from './open-api.js';

const INT32: Schema = { type: 'integer', format: 'int32' };
const UINT32: Schema = { type: 'integer', minimum: 0, maximum: 4_294_967_295 };
// As text, since a JavaScript number cannot hold 64 bits. The example is for documentation pages, which would otherwise
// make an example of any length from the pattern.
const INT64: Schema = { type: 'string', pattern: '^-?[0-9]+$', examples: ['1'] };
const UINT64: Schema = { type: 'string', pattern: '^[0-9]+$', examples: ['1'] };

function floatingPointSchema(format: string): Schema {
  const notFinite = { type: 'string', enum: ['NaN', 'Infinity', '-Infinity'] };
  return { oneOf: [{ type: 'number', format }, notFinite] };
}

/** The ProtoJSON forms of scalars. */
export const scalarSchemas = {
  [ScalarType.DOUBLE]: floatingPointSchema('double'),
  [ScalarType.FLOAT]: floatingPointSchema('float'),
  [ScalarType.INT32]: INT32,
  [ScalarType.SINT32]: INT32,
  [ScalarType.SFIXED32]: INT32,
  [ScalarType.UINT32]: UINT32,
  [ScalarType.FIXED32]: UINT32,
  [ScalarType.INT64]: INT64,
  [ScalarType.SINT64]: INT64,
  [ScalarType.SFIXED64]: INT64,
  [ScalarType.UINT64]: UINT64,
  [ScalarType.FIXED64]: UINT64,
  [ScalarType.BOOL]: { type: 'boolean' },
  [ScalarType.STRING]: { type: 'string' },
  [ScalarType.BYTES]: { type: 'string', contentEncoding: 'base64' },
} as const satisfies Record<ScalarType, Schema>;

/**
 * The JSON forms of map keys, which are text even for numbers of 32 bits. For all other key types, any text is a key.
 */
export const keySchemas: ReadonlyMap<ScalarType, Schema> = new Map([
  [ScalarType.INT32, INT64],
  [ScalarType.SINT32, INT64],
  [ScalarType.SFIXED32, INT64],
  [ScalarType.INT64, INT64],
  [ScalarType.SINT64, INT64],
  [ScalarType.SFIXED64, INT64],
  [ScalarType.UINT32, UINT64],
  [ScalarType.FIXED32, UINT64],
  [ScalarType.UINT64, UINT64],
  [ScalarType.FIXED64, UINT64],
  [ScalarType.BOOL, { type: 'string', enum: ['true', 'false'] }],
]);

const TEXT: Schema = { type: 'string' };
const ANYTHING: Schema = {};

/**
 * The ProtoJSON forms of messages that are not objects of their fields, except wrappers, which have the form of their
 * value.
 */
const wellKnownSchemas: ReadonlyMap<string, Schema> = new Map([
  ['google.protobuf.Timestamp', { type: 'string', format: 'date-time' }],
  ['google.protobuf.Duration', { type: 'string', pattern: '^-?[0-9]+(\\.[0-9]{1,9})?s$' }],
  ['google.protobuf.FieldMask', TEXT],
  ['google.protobuf.Struct', { type: 'object', additionalProperties: true }],
  ['google.protobuf.Value', ANYTHING],
  ['google.protobuf.ListValue', { type: 'array', items: ANYTHING }],
  ['google.protobuf.Any', { type: 'object', properties: { '@type': TEXT }, additionalProperties: true }],
]);

/** The ProtoJSON form of a message that is not an object of its fields; undefined for all others. */
export function wellKnownSchema(message: DescMessage): Schema | undefined {
  return isWrapperDesc(message)
    ? scalarSchemas[message.fields[0].scalar]
    : wellKnownSchemas.get(message.typeName);
}
