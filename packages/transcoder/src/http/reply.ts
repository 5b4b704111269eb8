import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { fromBinary, type Message } from '@bufbuild/protobuf';
import { reflect, type ScalarValue } from '@bufbuild/protobuf/reflect';
import { LRUCache } from 'lru-cache';
import { HttpFailure } from '../failures/failure.js';
import type { HttpReply } from '../http-reply.js';
import type { JsonOutput } from '../json/json-output.js';
import type { Binding } from '../template/binding.js';
import { expandPathTemplate } from '../template/path-template.js';
import type { ResourcePath, SuccessRule } from '../template/success-rules.js';
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
    const response = fromBinary(binding.method.output, message);
    const body = this.#output.text(binding.method.output, response, binding.responseBody);
    if (rule?.creates !== true || isDryRun(rule, request)) return { status: 200, headers: {}, body };
    const path = rule.location && pathOfResource(rule.location, response);
    return { status: 201, headers: path === undefined ? {} : { Location: this.#basePath + path }, body };
  }

  /** The format of the stream for a request. @param accept the header `Accept` */
  format(binding: Binding, accept: string | undefined, how: StreamStyle): StreamFormat {
    if (binding.givesBytes) return bytesFormat(binding);
    return streamFormat(accept, how, (message) => this.#text(binding, message));
  }

  /**
   * Refuses a create with `If-Match`, whatever its value: there is no representation that could match yet (RFC 9110
   * 13.1.1). For the same reason, `If-None-Match` is always true (13.1.2).
   *
   * @throws HttpFailure `PRECONDITION_FAILED`
   */
  requirePrecondition(binding: Binding, headers: IncomingHttpHeaders): void {
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

/** A body with its entity tag. */
interface Rendered {
  readonly body: Uint8Array;
  readonly tag: string;
}

type Render = (binding: Binding, message: Uint8Array) => Rendered;

function conditional({ body, tag }: Rendered, control: string, asked: IncomingHttpHeaders): HttpReply {
  const headers = { ETag: tag, 'Cache-Control': control, Vary: 'Authorization' };
  return isCurrent(asked, tag) ? { status: 304, headers } : { status: 200, headers, body };
}

/** The look-ups of a cache so far, and its current number of entries and their size in bytes. */
export interface CacheFigures {
  readonly hits: number;
  readonly misses: number;
  readonly entries: number;
  readonly bytes: number;
}

/** The overhead of an entry beyond its key and body, in bytes: V8's objects, the tag and the cache's bookkeeping. */
const ENTRY_BYTES = 400;
/** The largest message and the largest body of an entry, in bytes, so that one reply does not evict hundreds. */
const CACHED_MAX_BYTES = 16_384;
/** The part of its bytes at which the cache counts as full: it is never filled to the last byte. */
const FULL_PART = 0.75;
/** Once the cache is full, it takes one of so many new replies: most of a scan costs and evicts nothing. */
const TAKEN_OF_NEW = 8;

/**
 * A cache of rendered replies, since rendering takes a fifth of the CPU time of a get from memory. It is by binding and
 * message: a reply follows from these alone, so that no entry becomes stale. It is asked only once the server has sent
 * the message, so it gives nobody what the server would not. All callers share it: one that reads many resources evicts
 * some of those of others, whose next replies are then rendered once more.
 *
 * Keys and bodies are strings with one character per byte: separate byte arrays would take several times as much memory.
 */
class ReplyCache {
  /** By number rather than by call path: bindings of one method may have different response bodies. */
  readonly #numbers: ReadonlyMap<Binding, number>;
  readonly #replies: LRUCache<string, { readonly body: string; readonly tag: string }>;
  readonly #fullBytes: number;
  #hits = 0;
  #misses = 0;

  constructor(bindings: readonly Binding[], maxBytes: number) {
    this.#fullBytes = FULL_PART * maxBytes;
    this.#numbers = new Map(bindings.map((binding, number) => [binding, number]));
    this.#replies = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ body }, key) => key.length + body.length + ENTRY_BYTES,
    });
  }

  get(binding: Binding, message: Uint8Array, render: Render): Rendered {
    if (message.length > CACHED_MAX_BYTES) return render(binding, message);
    const key = `${this.#numbers.get(binding)} ${latin1(message)}`;
    const kept = this.#replies.get(key);
    if (kept !== undefined) {
      this.#hits += 1;
      return { body: Buffer.from(kept.body, 'latin1'), tag: kept.tag };
    }
    this.#misses += 1;
    const rendered = render(binding, message);
    const { body, tag } = rendered;
    if (body.length <= CACHED_MAX_BYTES && this.#takes()) this.#replies.set(key, { body: latin1(body), tag });
    return rendered;
  }

  #takes(): boolean {
    return this.#replies.calculatedSize < this.#fullBytes || this.#misses % TAKEN_OF_NEW === 0;
  }

  get figures(): CacheFigures {
    const { size, calculatedSize } = this.#replies;
    return { hits: this.#hits, misses: this.#misses, entries: size, bytes: calculatedSize };
  }
}

function latin1({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1');
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
  if (wanted !== undefined && !names(wanted, tag, 'strong')) throw preconditionFailed();
  return known !== undefined && names(known, tag, 'weak');
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

const TAG = /(W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/** Whether a list of entity tags names the tag, by the given comparison (RFC 9110 8.8.3.2). */
function names(list: string, tag: string, comparison: 'strong' | 'weak'): boolean {
  if (list.trim() === '*') return true;
  return [...list.matchAll(TAG)].some(
    ([, weak, opaque]) => opaque === tag && (weak === undefined || comparison === 'weak'),
  );
}
