import type { Page } from '../gateway/page.js';
import { openApi } from './gen/openapi.js';
import { tryOutPages } from './try-out-pages.js';

/**
 * The description of the service for programs and for people: OpenAPI 3.1 at `/openapi.json`, and an interactive page
 * at `/docs` with its resources.
 *
 * @param basePath prefix of all REST paths; empty for none
 */
export function createDocuments(basePath: string): readonly Page[] {
  const servers = [{ url: basePath === '' ? '/' : basePath, description: 'This service.' }];
  const document: Page = {
    path: '/openapi.json',
    name: 'openapi',
    contentType: 'application/json',
    body: Buffer.from(JSON.stringify({ ...openApi, servers })),
    headers: { 'X-Content-Type-Options': 'nosniff' },
  };
  return [document, ...tryOutPages()];
}
