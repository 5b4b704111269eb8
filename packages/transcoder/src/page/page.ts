import { methodNotAllowed } from '../failures/failure.js';
import { entityTag, isCurrent } from '../http/entity-tag.js';
import type { Exchange } from '../http/exchange.js';
import type { HttpReply } from '../http-reply.js';

/** A fixed document that is served beside the paths of a contract. */
export interface Page {
  /** Its path, under the base path: `/openapi.json`. Segments of unreserved characters; empty for the base path. */
  readonly path: string;
  /** What it is called where pages are listed. Default: it is part of another one. */
  readonly name?: string;
  readonly contentType: string;
  readonly body: Uint8Array;
  /** Further headers, such as a content security policy. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Answers GET for a resource outside the contract. */
export type ReadReply = (exchange: Exchange) => HttpReply | Promise<HttpReply>;

/** The answer to GET for a page: the page, or 304 for a client that already has it. */
export function pageReply({ contentType, body, headers }: Page): ReadReply {
  const tag = entityTag(body);
  const unchanged = { ...headers, ETag: tag, 'Cache-Control': 'no-cache' };
  return ({ request }) =>
    isCurrent(request.headers, tag)
      ? { status: 304, headers: unchanged }
      : { status: 200, headers: unchanged, contentType, body };
}

const ALLOW = { Allow: 'GET, HEAD, OPTIONS' };

/**
 * Answers a request for a read-only resource outside the contract, as the function `answer` of `respond`.
 *
 * @throws Failure `METHOD_NOT_ALLOWED`
 */
export function readOnly(exchange: Exchange, read: ReadReply): HttpReply | Promise<HttpReply> {
  const { verb } = exchange;
  if (verb === 'OPTIONS') return { status: 204, headers: ALLOW };
  if (verb === 'GET' || verb === 'HEAD') return read(exchange);
  throw methodNotAllowed(ALLOW);
}
