import { targetOf } from './http/exchange.js';
import { requestTarget } from './http/head.js';
import type { OpenApi } from './openapi/open-api.js';
import { once, type Page, pageReply, readOnly } from './page/static-page.js';
import { swaggerUi } from './page/swagger-ui.js';
import type { Transcoder } from './transcoder.js';

export { type Page, pageReply, type ReadReply, readOnly } from './page/static-page.js';

/**
 * Returns the pages that document a service: the OpenAPI document at `/openapi.json`, and at `/docs` Swagger UI with
 * its assets, which can also send requests.
 *
 * @param describe makes the document; called once, at the first request that needs it
 * @throws Error with a one-sentence message if the package `swagger-ui-dist` is not installed
 */
export function documentPages(describe: () => OpenApi): Page[] {
  const document = once(describe);
  return [documentPage(document), ...swaggerUi(() => document().info.title)];
}

/** Returns the OpenAPI document at `/openapi.json` alone. */
export function documentPage(describe: () => OpenApi): Page {
  return {
    path: '/openapi.json',
    name: 'openapi',
    contentType: 'application/json',
    body: () => Buffer.from(JSON.stringify(describe())),
    headers: { 'X-Content-Type-Options': 'nosniff' },
  };
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
  const replies = new Map(pages.map((page) => [basePath + page.path, pageReply(page)]));
  return (request, response, next) => {
    const { path } = requestTarget(targetOf(request));
    const reply = replies.get(path);
    if (reply === undefined) {
      transcoder.handler(request, response, next);
      return;
    }
    transcoder.respond(request, response, (exchange) => {
      exchange.template = path;
      return readOnly(exchange, reply);
    });
  };
}
