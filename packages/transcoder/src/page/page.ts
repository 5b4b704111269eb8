import { methodNotAllowed } from '../failures/failure.js';
import { entityTag, isCurrent } from '../http/reply.js';
import type { Exchange } from '../http/exchange.js';
import type { HttpReply } from '../http-reply.js';

/** A static document that is served beside the paths of a contract. */
export interface Page {
  /**
   * The path under the base path, such as `/openapi.json`: segments of unreserved characters, or empty for the base
   * path.
   */
  readonly path: string;
  /** The name of the page where pages are listed. Default: the page is part of another one, and not listed. */
  readonly name?: string;
  readonly contentType: string;
  readonly body: Uint8Array;
  /** Further headers, such as a content security policy. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns the response to GET and HEAD for a resource outside the contract. */
export type ReadReply = (exchange: Exchange) => HttpReply | Promise<HttpReply>;

/** Returns the function that serves a page, with 304 for a client whose copy is current. */
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
 * Responds to a request for a read-only resource outside the contract; for the `answer` of `respond`.
 *
 * @throws HttpFailure `METHOD_NOT_ALLOWED` unless the HTTP method is GET, HEAD or OPTIONS
 */
export function readOnly(exchange: Exchange, read: ReadReply): HttpReply | Promise<HttpReply> {
  const { verb } = exchange;
  if (verb === 'OPTIONS') return { status: 204, headers: ALLOW };
  if (verb === 'GET' || verb === 'HEAD') return read(exchange);
  throw methodNotAllowed(ALLOW);
}
