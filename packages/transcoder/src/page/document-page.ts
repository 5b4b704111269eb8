import type { OpenApi } from '../openapi/open-api.js';
import type { Page } from './static-page.js';

/** A page with only the OpenAPI document, at `/openapi.json`, without a viewer. */
export function documentPage(describe: () => OpenApi): Page {
  return {
    path: '/openapi.json',
    name: 'openapi',
    contentType: 'application/json',
    body: () => Buffer.from(JSON.stringify(describe())),
    headers: { 'X-Content-Type-Options': 'nosniff' },
  };
}
