import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { fromBinary, type Message } from '@bufbuild/protobuf';
import { reflect, type ScalarValue } from '@bufbuild/protobuf/reflect';
import { HttpFailure } from '../failures/failure.js';
import type { HttpReply } from '../http-reply.js';
import type { JsonOutput } from '../json/json-output.js';
import type { Binding } from '../template/binding.js';
import { expandPathTemplate } from '../template/path-template.js';
import type { ResourcePath, SuccessRule } from '../template/success-rules.js';
import { type CacheFigures, type Render, type Rendered, ReplyCache } from './reply-cache.js';
import {
  bytesFormat,
  bytesReply,
  streamFormat,
  type StreamFormat,
  type StreamStyle,
} from './stream-formats.js';

/** Creates the HTTP responses of successful calls. */
export class SuccessReplies {
  readonly #rules: ReadonlyMap<Binding, SuccessRule>;
  readonly #output: JsonOutput;
  readonly #basePath: string;
  readonly #cache: ReplyCache | undefined;

  /** @param cacheBytes the limit on cached replies; with 0, each is rendered anew. */
  constructor(
    rules: ReadonlyMap<Binding, SuccessRule>,
    output: JsonOutput,
    basePath: string,
    cacheBytes: number,
  ) {
    this.#rules = rules;
    this.#output = output;
    this.#basePath = basePath;
    this.#cache = cacheBytes === 0 ? undefined : new ReplyCache([...rules.keys()], cacheBytes);
  }

  get cacheFigures(): CacheFigures {
    return this.#cache?.figures ?? { hits: 0, misses: 0, entries: 0, bytes: 0 };
  }

  /**
   * The HTTP response for a serialized response message.
   *
   * @param headers the headers of the request.
   * @throws HttpFailure `PRECONDITION_FAILED`, or Error if the message cannot be decoded or has no JSON form.
   */
  reply(
    binding: Binding,
    request: Message,
    message: Uint8Array | undefined,
    headers: IncomingHttpHeaders,
  ): HttpReply {
    if (message === undefined) throw new Error('The reply is OK and has no message.');
    if (binding.givesBytes) return bytesReply(binding, message);

    const rule = this.#rules.get(binding);
    if (rule?.caching !== undefined) {
      const render = this.#render;
      const rendered = this.#cache?.get(binding, message, render) ?? render(binding, message);
      return conditional(rendered, cacheControl[rule.caching], headers);
    }

    // Not by `#text`: the path of the created resource is made from the same message.
    const response = fromBinary(binding.method.output, message);
    const body = this.#output.text(binding.method.output, response, binding.responseBody);
    if (rule?.creates !== true || isDryRun(rule, request)) return { status: 200, headers: {}, body };

    const path = rule.location && pathOfResource(rule.location, response);
    return { status: 201, headers: path === undefined ? {} : { Location: this.#basePath + path }, body };
  }

  /** The format of the stream for a request. @param accept the header `Accept` */
  format(binding: Binding, accept: string | undefined, style: StreamStyle): StreamFormat {
    if (binding.givesBytes) return bytesFormat(binding);
    return streamFormat(accept, style, (message) => this.#text(binding, message));
  }

  /**
   * Refuses a create that has `If-Match`, whatever its value: there is no representation that could match yet (RFC 9110
   * 13.1.1). For the same reason, `If-None-Match` is always true (13.1.2).
   *
   * @throws HttpFailure `PRECONDITION_FAILED`
   */
  refuseCreateWithIfMatch(binding: Binding, headers: IncomingHttpHeaders): void {
    const creates = this.#rules.get(binding)?.creates === true;
    if (creates && headers['if-match'] !== undefined) throw preconditionFailed();
  }

  readonly #render: Render = (binding, message) => {
    const body = Buffer.from(this.#text(binding, message));
    return { body, tag: entityTag(body) };
  };

  #text({ method, responseBody }: Binding, message: Uint8Array): string {
    return this.#output.text(method.output, fromBinary(method.output, message), responseBody);
  }
}

function isDryRun({ validateOnly }: SuccessRule, request: Message): boolean {
  return validateOnly !== undefined && reflect(validateOnly.parent, request).get(validateOnly) === true;
}

/** The path of a resource; undefined if a field that identifies it is empty. */
function pathOfResource({ template, fields }: ResourcePath, resource: Message): string | undefined {
  const values = fields.map((field) => String(reflect(field.parent, resource).get(field) as ScalarValue));
  return values.includes('') ? undefined : expandPathTemplate(template, values);
}

const cacheControl = {
  revalidate: 'private, no-cache',
  immutable: 'private, max-age=31536000, immutable',
} as const satisfies Record<NonNullable<SuccessRule['caching']>, string>;

/**
 * The response for a representation, without content if the client has it already.
 *
 * @param requested the headers of the request.
 */
function conditional({ body, tag }: Rendered, control: string, requested: IncomingHttpHeaders): HttpReply {
  const headers = { ETag: tag, 'Cache-Control': control, Vary: 'Authorization' };
  return isCurrent(requested, tag) ? { status: 304, headers } : { status: 200, headers, body };
}

/** A strong entity tag (RFC 9110 8.8.3) of a body: the first 162 bits of its SHA-256. */
export function entityTag(body: string | Uint8Array): string {
  return `"${hash('sha256', body, 'base64url').slice(0, 27)}"`;
}

/**
 * Whether the client of a GET or HEAD already has the representation with the tag, according to `If-None-Match`, which
 * is evaluated after `If-Match` (RFC 9110 13.2.2).
 *
 * @throws HttpFailure `PRECONDITION_FAILED` if `If-Match` does not match the tag.
 */
export function isCurrent(headers: IncomingHttpHeaders, tag: string): boolean {
  const { 'if-match': wanted, 'if-none-match': known } = headers;
  if (wanted !== undefined && !isListed(tag, wanted, 'strong')) throw preconditionFailed();
  return known !== undefined && isListed(tag, known, 'weak');
}

/**
 * `If-Match` does not match the current representation, or there is none because the resource is about to be created.
 */
function preconditionFailed(): HttpFailure {
  return new HttpFailure(
    'PRECONDITION_FAILED',
    'No current representation matches If-Match; a read may name its entity tag or *, a create has none yet.',
  );
}

// RFC 9110 8.8.3: the mark of a weak tag, and the quoted text.
const TAG = /(W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/** Whether a list of entity tags, or `*`, has a strong tag, by strong or weak comparison (RFC 9110 8.8.3.2). */
function isListed(tag: string, list: string, comparison: 'strong' | 'weak'): boolean {
  if (list.trim() === '*') return true;
  return [...list.matchAll(TAG)].some(
    ([, weak, opaque]) => opaque === tag && (weak === undefined || comparison === 'weak'),
  );
}
