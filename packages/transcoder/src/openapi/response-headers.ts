import type { DescMethod, JsonValue } from '@bufbuild/protobuf';
import type { ResponseHeaders } from '../metadata/response-headers.js';
import type { SuccessRule } from '../template/success-rules.js';
import type { HeaderFacts } from './description-options.js';
import type { Header, Headers, Reference, Schema } from './open-api.js';
import { factsOf } from './header-facts.js';

/** The request id in all examples. */
const REQUEST_ID = '8d3f6a1e-27c4-4b90-9e5d-f1a0b2c3d4e5';

/** A header that is in every response that lists it. */
export function header(description: string, schema: Schema, example?: JsonValue): Header {
  return { description, required: true, schema, ...(example === undefined ? {} : { example }) };
}

/** The schema of a constant text. */
export function exactly(value: string): Schema {
  return { type: 'string', const: value };
}

/** The header `Vary` of a response that depends on a request header; CORS middleware in front may add another. */
function varyBy(name: string): Header {
  const pattern = `^(.+, )?${name}$`;
  return header('The request headers that the response depends on.', { type: 'string', pattern }, name);
}

const TEXT = { type: 'string' };
const REQUEST_ID_TEXT =
  'The id of the call: the one in the request, or a new one. It is also in the log and in errors.';
const CACHING = 'Whether the response may be cached, and for how long.';

/** The headers that the transcoder itself writes, by the name of their component. */
const ownHeaders = {
  NoStore: header(CACHING, exactly('no-store')),
  Revalidate: header(CACHING, exactly('private, no-cache')),
  Immutable: header(CACHING, exactly('private, max-age=31536000, immutable')),
  ETag: header(
    'A strong entity tag for `If-None-Match`.',
    { type: 'string', pattern: '^"[!#-~]+"$' },
    '"L_9GykOhU34DF0Q4b8xRcnJ9YAH"',
  ),
  Vary: varyBy('Authorization'),
  NoTransform: header(CACHING, exactly('no-store, no-transform')),
  VaryAccept: varyBy('Accept'),
  NoBuffering: header('Tells proxies to pass on each message as it comes.', exactly('no')),
  NoSniff: header('Tells browsers to keep to the content type.', exactly('nosniff')),
  // Without an example, since it begins with the base path.
  Location: header('The path of the new resource, which begins with the base path of the server.', {
    type: 'string',
    format: 'uri-reference',
  }),
} satisfies Readonly<Record<string, Header>>;

/** The headers of responses. */
export class DescribedHeaders {
  /** The headers that responses refer to, by name. */
  readonly components: Record<string, Header> = {};
  /** The headers that the transcoder writes into every response. */
  readonly #everywhere: Headers;
  /** The headers that any response may have from the metadata of the reply. */
  readonly #forwarded: Headers;
  /** The headers that depend on request fields, each with the proto name of its field. */
  readonly #ofFields: readonly (readonly [field: string, name: string, header: Header])[];

  /**
   * @param forwarded the metadata of replies that becomes headers.
   * @param requestId the schema of request ids.
   * @param facts further facts about headers, by name.
   */
  constructor(forwarded: ResponseHeaders, requestId: Schema, facts: Readonly<Record<string, HeaderFacts>>) {
    const id = header(REQUEST_ID_TEXT, requestId, REQUEST_ID);
    this.#everywhere = { 'X-Request-Id': this.#reference('X-Request-Id', id) };

    const ofAll: [name: string, header: Header][] = [];
    const ofFields: [field: string, name: string, header: Header][] = [];
    for (const [key, name] of forwarded) {
      // OpenAPI has no place for prefixes.
      if (key.endsWith('*')) continue;
      const usual = `The \`${key}\` that the service sends.`;
      const { description = usual, bounds, field } = factsOf(facts, name);
      const optional = { ...header(description, { ...TEXT, ...bounds }), required: false };
      if (field === undefined) ofAll.push([name, optional]);
      else ofFields.push([field, name, optional]);
    }
    this.#forwarded = Object.fromEntries(ofAll);
    this.#ofFields = ofFields;
  }

  /** The headers of a response that must not be stored. */
  uncached(): Headers {
    return { ...this.#forwarded, ...this.#everywhere, 'Cache-Control': this.#own('NoStore') };
  }

  /** The headers of a response that may be cached, or not if `caching` is undefined. */
  forCaching(caching: SuccessRule['caching']): Headers {
    if (caching === undefined) return this.uncached();
    const component = { revalidate: 'Revalidate', immutable: 'Immutable' } as const;
    return {
      ...this.#forwarded,
      ...this.#everywhere,
      'Cache-Control': this.#own(component[caching]),
      ETag: this.#own('ETag'),
      Vary: this.#own('Vary'),
    };
  }

  /** The additional headers that depend on a field of the request. */
  forRequestFields({ input }: DescMethod): Headers {
    const own = this.#ofFields.filter(([field]) => input.fields.some(({ name }) => name === field));
    return Object.fromEntries(own.map(([, name, ownHeader]) => [name, ownHeader]));
  }

  /** The headers of streams. */
  forStream(): Headers {
    return {
      ...this.#forwarded,
      ...this.#everywhere,
      'Cache-Control': this.#own('NoTransform'),
      Vary: this.#own('VaryAccept'),
      'X-Accel-Buffering': this.#own('NoBuffering'),
    };
  }

  /** The additional headers of a `google.api.HttpBody`. */
  forBytes(): Headers {
    return { 'X-Content-Type-Options': this.#own('NoSniff') };
  }

  /** The additional header of a response to the creation of a resource. */
  forCreation(): Headers {
    return { Location: this.#own('Location') };
  }

  #own(component: keyof typeof ownHeaders): Reference {
    return this.#reference(component, ownHeaders[component]);
  }

  /** Adds a header to the components. @returns a reference to it */
  #reference(name: string, content: Header): Reference {
    this.components[name] = content;
    return { $ref: `#/components/headers/${name}` };
  }
}
