import { methodNotAllowed } from '../failures/failure.js';
import type { Exchange } from '../http/exchange.js';
import { requestTarget } from '../http/head.js';
import type { HttpReply } from '../http-reply.js';
import type { Transcoder } from '../transcoder.js';
import { type Page, pageReply, type ReadReply } from './static-page.js';

const ALLOW = { Allow: 'GET, HEAD, OPTIONS' };

/**
 * The response for a resource outside the contract that can only be read; `read` is called for GET and HEAD. To be used in
 * the `answer` that an application passes to `Transcoder.respond`.
 *
 * @throws HttpFailure `METHOD_NOT_ALLOWED` unless the HTTP method is GET, HEAD or OPTIONS
 */
export function readOnly(exchange: Exchange, read: ReadReply): HttpReply | Promise<HttpReply> {
  const { verb } = exchange;
  if (verb === 'OPTIONS') return { status: 204, headers: ALLOW };
  if (verb === 'GET' || verb === 'HEAD') return read(exchange);
  throw methodNotAllowed(ALLOW);
}

/**
 * Returns a handler that serves the pages, and passes all other requests to the transcoder.
 *
 * @param basePath prefix of the paths of the pages. Default: none.
 */
export function withPages(
  transcoder: Pick<Transcoder, 'handler' | 'respond'>,
  pages: readonly Page[],
  basePath = '',
): Transcoder['handler'] {
  const pageReplies = new Map(pages.map((page) => [basePath + page.path, pageReply(page)]));
  return (request, response, next) => {
    const { path } = requestTarget(request);
    const read = pageReplies.get(path);
    if (read === undefined) {
      transcoder.handler(request, response, next);
      return;
    }
    transcoder.respond(request, response, (exchange) => {
      // Observers get the path template, which has no variables here.
      exchange.template = path;
      return readOnly(exchange, read);
    });
  };
}
