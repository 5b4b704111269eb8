import {
  entityTag,
  type Exchange,
  type HttpReply,
  isCurrent,
  methodNotAllowed,
} from '@route-registry/transcoder';
import { HEALTH_PATH } from './healthz.js';

/** A fixed document that the gateway serves beside the paths of the contract. */
export interface Page {
  /** Its path, under the base path: `/openapi.json`. Segments of unreserved characters; empty for the base path. */
  readonly path: string;
  /** Its name in the index at `GET /`. Default: not listed. */
  readonly name?: string;
  readonly contentType: string;
  readonly body: Uint8Array;
  /** Further headers, such as a content security policy. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Answers GET for one of the gateway's own resources. */
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

/**
 * The index at the base path: the paths of the named pages and of the health, `{"docs":"/docs","health":"/healthz"}`.
 */
export function indexPage(basePath: string, pages: readonly Page[]): Page {
  const named = pages.flatMap(({ name, path }) => (name === undefined ? [] : [[name, basePath + path]]));
  const places = Object.fromEntries([...named, ['health', `${basePath}${HEALTH_PATH}`]]) as object;
  return {
    path: basePath === '' ? '/' : '',
    contentType: 'application/json',
    body: Buffer.from(JSON.stringify(places)),
    headers: {},
  };
}

const ALLOW = { Allow: 'GET, HEAD, OPTIONS' };

/**
 * Answers a request for a read-only resource.
 *
 * @throws Failure `METHOD_NOT_ALLOWED`
 */
export function readOnly(exchange: Exchange, read: ReadReply): HttpReply | Promise<HttpReply> {
  const { verb } = exchange;
  if (verb === 'OPTIONS') return { status: 204, headers: ALLOW };
  if (verb === 'GET' || verb === 'HEAD') return read(exchange);
  throw methodNotAllowed(ALLOW);
}
