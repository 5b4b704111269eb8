import type { IncomingHttpHeaders } from 'node:http';
import { fromBinary, type Message, type Registry } from '@bufbuild/protobuf';
import { type Binding, givesBytes, isDryRun, pathOfResource, type SuccessRule } from '../template/binding.js';
import { bytesFormat, bytesReply } from './bytes-reply.js';
import { entityTag, isCurrent, preconditionFailed } from './entity-tag.js';
import { type JsonOutput, LargeBytes } from '../json/json-output.js';
import type { HttpReply } from '../http-reply.js';
import { type StreamFormat, streamFormat } from './stream-format.js';

/** Creates the HTTP responses of successful calls. */
export class SuccessReplies {
  readonly #rules: ReadonlyMap<Binding, SuccessRule>;
  readonly #registry: Registry;
  readonly #output: JsonOutput;
  readonly #basePath: string;

  constructor(
    rules: ReadonlyMap<Binding, SuccessRule>,
    registry: Registry,
    output: JsonOutput,
    basePath: string,
  ) {
    this.#rules = rules;
    this.#registry = registry;
    this.#output = output;
    this.#basePath = basePath;
  }

  /**
   * The HTTP response for a serialized response message.
   *
   * @param headers the headers of the request.
   * @throws Failure `PRECONDITION_FAILED`, or Error if the message cannot be decoded or has no JSON form.
   */
  reply(
    binding: Binding,
    request: Message,
    message: Uint8Array | undefined,
    headers: IncomingHttpHeaders,
  ): HttpReply {
    if (message === undefined) throw new Error('The reply is OK and has no message.');
    if (givesBytes(binding)) return bytesReply(binding, message);
    const rule = this.#rules.get(binding);
    const response = fromBinary(binding.method.output, message);
    const body = this.#body(binding, response);
    if (rule?.caching !== undefined) return cacheable(body, cacheControl[rule.caching], headers);
    if (rule?.creates !== true || isDryRun(rule, request)) return { status: 200, headers: {}, body };
    const path = rule.location && pathOfResource(rule.location, response);
    return { status: 201, headers: path === undefined ? {} : { Location: this.#basePath + path }, body };
  }

  /** The format of the stream for a request. @param accept the header `Accept` */
  format(binding: Binding, accept: string | undefined, lenient: boolean): StreamFormat {
    if (givesBytes(binding)) return bytesFormat(binding);
    return streamFormat(accept, lenient, (message) =>
      this.#body(binding, fromBinary(binding.method.output, message)),
    );
  }

  /**
   * Refuses a create with `If-Match`, whatever its value: there is no representation that could match yet (RFC 9110
   * 13.1.1). For the same reason, `If-None-Match` is always true (13.1.2).
   *
   * @throws Failure `PRECONDITION_FAILED`
   */
  requirePrecondition(binding: Binding, headers: IncomingHttpHeaders): void {
    const creates = this.#rules.get(binding)?.creates === true;
    if (creates && headers['if-match'] !== undefined) throw preconditionFailed();
  }

  #body({ method, responseBody }: Binding, response: Message): string | Uint8Array {
    const large = new LargeBytes(this.#registry, method.output, response);
    const json =
      responseBody === undefined
        ? this.#output.json(method.output, response)
        : this.#output.fieldJson(responseBody, response);
    return large.restoredIn(JSON.stringify(json));
  }
}

const cacheControl = {
  revalidate: 'private, no-cache',
  immutable: 'private, max-age=31536000, immutable',
} as const satisfies Record<NonNullable<SuccessRule['caching']>, string>;

function cacheable(body: string | Uint8Array, control: string, asked: IncomingHttpHeaders): HttpReply {
  const tag = entityTag(body);
  const headers = { ETag: tag, 'Cache-Control': control, Vary: 'Authorization' };
  return isCurrent(asked, tag) ? { status: 304, headers } : { status: 200, headers, body };
}
