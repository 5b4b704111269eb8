import type { Page } from '@route-registry/transcoder/page';
import { HEALTH_PATH } from './healthz.js';

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
