import { entityTag, matchesEntityTag } from '../../packages/transcoder/src/http/entity-tag.js';
import { methodNotAllowed } from '../../packages/transcoder/src/failures/failure.js';
import type { Reply } from '../../packages/transcoder/src/http-reply.js';

/** A fixed document that the gateway serves beside the paths of the contract. */
export interface Page {
  /** Its path, under the base path: `/openapi.json`. Segments of unreserved characters. */
  readonly path: string;
  readonly contentType: string;
  readonly body: Uint8Array;
  /** Further headers, such as its content security policy. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What answers GET for a page: the page, or 304 for who has it already. */
export function pageReply({ contentType, body, headers }: Page): (ifNoneMatch: string | undefined) => Reply {
  const tag = entityTag(body);
  const unchanged = { ...headers, ETag: tag, 'Cache-Control': 'no-cache' };
  return (ifNoneMatch) =>
    matchesEntityTag(ifNoneMatch, tag)
      ? { status: 304, headers: unchanged }
      : { status: 200, headers: unchanged, contentType, body };
}

const ALLOW = { Allow: 'GET, HEAD, OPTIONS' };

/**
 * Answers for a resource of the gateway's own, which can only be read.
 *
 * @throws Failure `METHOD_NOT_ALLOWED`.
 */
export async function readOnly(verb: string, read: () => Reply | Promise<Reply>): Promise<Reply> {
  if (verb === 'OPTIONS') return { status: 204, headers: ALLOW };
  if (verb === 'GET' || verb === 'HEAD') return read();
  throw methodNotAllowed(ALLOW);
}
