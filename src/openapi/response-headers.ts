import type { JsonValue } from '@bufbuild/protobuf';
import { REQUEST_ID_BOUNDS } from './field-facts.js';
import type { Header, Headers, Schema } from './open-api.js';

/** The request id in all examples. */
export const REQUEST_ID = '8d3f6a1e-27c4-4b90-9e5d-f1a0b2c3d4e5';

const CACHE_CONTROL = {
  never: 'no-store',
  revalidate: 'private, no-cache',
  immutable: 'private, max-age=31536000, immutable',
};

/** The headers of every response, and those that let a client keep it. */
export function headersFor(caching: keyof typeof CACHE_CONTROL): Headers {
  const everywhere = {
    'X-Request-Id': header(
      'The id of the call: the one in the request, or a new one. It is also in the log and in errors.',
      { type: 'string', ...REQUEST_ID_BOUNDS },
      REQUEST_ID,
    ),
    'Cache-Control': header(
      'Whether the response may be cached, and for how long.',
      exactly(CACHE_CONTROL[caching]),
    ),
  };
  if (caching === 'never') return everywhere;
  return {
    ...everywhere,
    ETag: header(
      'A strong entity tag for `If-None-Match`.',
      { type: 'string', pattern: '^"[!#-~]+"$' },
      '"L_9GykOhU34DF0Q4b8xRcnJ9YAH"',
    ),
    Vary: header('The request header that the response depends on.', exactly('Authorization')),
  };
}

/** A header that every response with it in the list has. */
export function header(description: string, schema: Schema, example?: JsonValue): Header {
  return { description, required: true, schema, ...(example === undefined ? {} : { example }) };
}

/** The schema of a text that is always the same. */
export function exactly(value: string): Schema {
  return { type: 'string', const: value };
}
