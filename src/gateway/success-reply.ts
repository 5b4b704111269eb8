import { fromBinary, type JsonObject, type Message } from '@bufbuild/protobuf';
import { LRUCache } from 'lru-cache';
import type { Binding } from './binding.js';
import { entityTag, matchesEntityTag } from './entity-tag.js';
import { memberOf } from './json-object.js';
import type { JsonOutput } from './json-output.js';
import type { Reply } from './reply.js';
import { isDryRun, pathOfResource, type SuccessRule } from './standard-method.js';

/** Makes the HTTP responses of calls that succeeded. */
export class SuccessReplies {
  readonly #rules: ReadonlyMap<Binding, SuccessRule>;
  readonly #output: JsonOutput;
  readonly #basePath: string;
  readonly #rendered: LRUCache<string, Rendered> | undefined;

  /** @param cacheBytes most bytes of the answers that are kept, of those that never change; default 0. */
  constructor(
    rules: ReadonlyMap<Binding, SuccessRule>,
    output: JsonOutput,
    basePath: string,
    cacheBytes = 0,
  ) {
    this.#rules = rules;
    this.#output = output;
    this.#basePath = basePath;
    this.#rendered =
      cacheBytes === 0 ? undefined : new LRUCache({ maxSize: cacheBytes, sizeCalculation: sizeOf });
  }

  /**
   * The response for a response message in binary form.
   *
   * @param ifNoneMatch the header `If-None-Match` of the request.
   * @throws Error where the message does not decode or has no JSON form.
   */
  reply(
    binding: Binding,
    request: Message,
    message: Uint8Array | undefined,
    ifNoneMatch: string | undefined,
  ): Reply {
    if (message === undefined) throw new Error('The reply is OK and has no message.');
    const rule = this.#rules.get(binding);
    if (rule?.caching !== undefined) {
      const rendered =
        rule.caching === 'immutable' ? this.#renderOnce(binding, message) : this.#render(binding, message);
      return cacheable(rendered, cacheControl[rule.caching], ifNoneMatch);
    }
    const response = fromBinary(binding.method.output, message);
    const body = this.#body(binding, response);
    if (rule?.creates !== true || isDryRun(rule, request)) return { status: 200, headers: {}, body };
    const path = rule.location && pathOfResource(rule.location, response);
    return { status: 201, headers: path === undefined ? {} : { Location: this.#basePath + path }, body };
  }

  #renderOnce(binding: Binding, message: Uint8Array): Rendered {
    // A string of one-byte characters: the cheapest key that bytes have.
    const key = Buffer.from(message.buffer, message.byteOffset, message.length).toString('latin1');
    const known = this.#rendered?.get(key);
    if (known?.binding === binding) return known;
    const rendered = this.#render(binding, message);
    this.#rendered?.set(key, rendered);
    return rendered;
  }

  #render(binding: Binding, message: Uint8Array): Rendered {
    const body = this.#body(binding, fromBinary(binding.method.output, message));
    return { binding, body, tag: entityTag(body) };
  }

  #body({ method, responseBody }: Binding, response: Message): string {
    const json = this.#output.json(method.output, response);
    if (responseBody === undefined) return JSON.stringify(json);
    return JSON.stringify(memberOf(json as JsonObject, responseBody.jsonName) ?? null);
  }
}

const cacheControl = {
  revalidate: 'private, no-cache',
  immutable: 'private, max-age=31536000, immutable',
} as const satisfies Record<NonNullable<SuccessRule['caching']>, string>;

/** The JSON of a response message, as one binding shows it. */
interface Rendered {
  readonly binding: Binding;
  readonly body: string;
  readonly tag: string;
}

/** What an entry takes beside its texts, in bytes: measured, and rounded up. */
const ENTRY_OVERHEAD = 320;

function sizeOf({ body }: Rendered, key: string): number {
  return key.length + Buffer.byteLength(body) + ENTRY_OVERHEAD;
}

function cacheable({ body, tag }: Rendered, control: string, ifNoneMatch: string | undefined): Reply {
  const headers = { ETag: tag, 'Cache-Control': control, Vary: 'Authorization' };
  return matchesEntityTag(ifNoneMatch, tag) ? { status: 304, headers } : { status: 200, headers, body };
}
