import { documentPages, type Page } from '@route-registry/transcoder/page';
import { describeService } from './document.js';

/**
 * The description of the service for programs and for people: OpenAPI 3.1 at `/openapi.json`, and an interactive page
 * at `/docs` with its resources.
 *
 * @param basePath prefix of all REST paths; empty for none
 */
export function createDocuments(basePath: string): readonly Page[] {
  const servers = [{ url: basePath === '' ? '/' : basePath, description: 'This service.' }];
  return documentPages(() => ({ ...describeService(), servers }));
}
