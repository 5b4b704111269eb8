import type { Page } from '../gateway/page.js';
import { type DescribedService, describeService } from './document.js';
import { tryOutPages } from './try-out-pages.js';

/**
 * The description of a service for programs and for people: OpenAPI 3.1 at `/openapi.json`, and at `/docs` a page
 * that shows it and lets one try it out, with all that the page loads.
 *
 * @throws Error with one sentence, where a failure or a header of the gateway has no description.
 */
export function createDocuments(service: DescribedService): readonly Page[] {
  const document: Page = {
    path: '/openapi.json',
    contentType: 'application/json',
    body: Buffer.from(JSON.stringify(describeService(service))),
    headers: { 'X-Content-Type-Options': 'nosniff' },
  };
  return [document, ...tryOutPages()];
}
