import { readFileSync } from 'node:fs';

/** The relative path is the same from `src/run/` and from `dist/run/`. */
const PACKAGE = new URL('../../package.json', import.meta.url);

/** The version of the service, from its package. */
export function serviceVersion(): string {
  const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { readonly version: string };
  return version;
}
