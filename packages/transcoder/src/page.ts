import type { OpenApi } from './openapi/open-api.js';
import { documentPage } from './page/document-page.js';
import { lazily } from './page/lazily.js';
import type { Page } from './page/static-page.js';
import { swaggerUi } from './page/swagger-ui.js';

export { type Page, pageReply, type ReadReply } from './page/static-page.js';
export { readOnly, withPages } from './page/with-pages.js';

/**
 * Returns the pages that document a service: the OpenAPI document at `/openapi.json`, and at `/docs` Swagger UI with
 * its assets, which can also send requests.
 *
 * @param describe makes the document; called once, at the first request that needs it
 */
export function documentPages(describe: () => OpenApi): Page[] {
  const document = lazily(describe);
  return [documentPage(document), ...swaggerUi(() => document().info.title)];
}
