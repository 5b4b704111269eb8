import { documentPages, type Page } from '@route-registry/transcoder/page';
import { describeService } from './document.js';

/**
 * The description of the service for programs and for people: OpenAPI 3.1 at `/openapi.json`, and an interactive page
 * at `/docs` with its resources.
 */
export function createDocuments(): readonly Page[] {
  // Where the document is: under the base path, and any prefix of a proxy.
  const servers = [{ url: '.', description: 'This service.' }];
  return documentPages(() => ({ ...describeService(), servers }));
}
