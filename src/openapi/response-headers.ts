import type { HttpReply } from '@route-registry/transcoder/description';
import { REQUEST_ID } from './failure-replies.js';
import type { Example, Header, Schema } from './open-api.js';

interface HeaderDescription {
  readonly description: string;
  /** Returns the schema of its values, given one of them. */
  readonly schema: (value: string) => Schema;
  /** Whether a reply may omit it, even if the example for its reason has it; default: false. */
  readonly optional?: boolean;
  /** Whether its value depends on the base path, so that no example is correct everywhere; default: false. */
  readonly local?: boolean;
}

const anyText = (): Schema => ({ type: 'string' });
const exactly = (value: string): Schema => ({ type: 'string', const: value });

const descriptions: Readonly<Record<string, HeaderDescription>> = {
  'X-Request-Id': {
    description:
      'The id of the call: the one in the request, or a new one. It is also in the log and in errors.',
    schema: () => ({ type: 'string', maxLength: 128, pattern: '^[!-~]+$' }),
  },
  'Cache-Control': { description: 'Whether the response may be cached, and for how long.', schema: exactly },
  ETag: {
    description: 'A strong entity tag for `If-None-Match`.',
    schema: () => ({ type: 'string', pattern: '^"[!#-~]+"$' }),
  },
  Vary: { description: 'The request header that the response depends on.', schema: exactly },
  Location: {
    description: 'The path of the new resource, which begins with the base path of the server.',
    schema: () => ({ type: 'string', format: 'uri-reference' }),
    local: true,
  },
  'WWW-Authenticate': { description: 'The kind of token that is required (RFC 6750).', schema: anyText },
  'Retry-After': {
    description: 'The number of seconds to wait before a retry.',
    schema: () => ({ type: 'integer', minimum: 0 }),
  },
  Allow: { description: 'The HTTP methods that the path supports.', schema: anyText },
  'Accept-Post': { description: 'The media type that is accepted.', schema: exactly },
  'Accept-Encoding': {
    description: 'The content codings that are accepted; sent when the content coding was refused.',
    schema: exactly,
    optional: true,
  },
};

/** A reply, with the name of its example. */
export interface NamedReply {
  readonly name: string;
  readonly reply: HttpReply;
}

/**
 * All headers of replies with the same status, with an example of each distinct value.
 *
 * @throws Error if the gateway sends a header that is not described
 */
export function responseHeaders(replies: readonly NamedReply[]): Record<string, Header> {
  const sent = replies.map(({ name, reply }) => ({ name, headers: writtenHeaders(reply) }));
  const names = new Set(sent.flatMap(({ headers }) => Object.keys(headers)));
  return Object.fromEntries([...names].map((name) => [name, headerOf(name, sent)]));
}

/** The headers of the reply, and those of every response. */
function writtenHeaders({ headers }: HttpReply): Readonly<Record<string, string>> {
  return { 'X-Request-Id': REQUEST_ID, 'Cache-Control': 'no-store', ...headers };
}

function headerOf(
  name: string,
  sent: readonly { readonly name: string; readonly headers: Readonly<Record<string, string>> }[],
): Header {
  const described = descriptions[name];
  const examples = sent.flatMap(({ name: example, headers }) => {
    const value = headers[name];
    return value === undefined ? [] : [{ example, value }];
  });
  const [first] = examples;
  if (described === undefined || first === undefined) throw new Error(`The header ${name} is not described.`);
  const schema = described.schema(first.value);
  const distinct = examples.filter(
    ({ value }, index) => examples.findIndex((each) => each.value === value) === index,
  );
  const shown = distinct.map(({ example, value }): [string, Example] => [
    example,
    { value: schema['type'] === 'integer' ? Number(value) : value },
  ]);
  return {
    description: described.description,
    required: examples.length === sent.length && described.optional !== true,
    schema,
    examples: described.local === true ? {} : Object.fromEntries(shown),
  };
}
