import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources';

/** The same from `src/` and from `dist/`. */
const PACKAGE = new URL('../../package.json', import.meta.url);

/**
 * What all spans of the process have in common (OpenTelemetry semantic conventions, service resource). The name, and
 * everything else, can be changed by `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`.
 */
export function serviceResource(): Resource {
  const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { readonly version: string };
  return defaultResource()
    .merge(
      resourceFromAttributes({
        'service.name': 'route-registry',
        'service.version': version,
        'service.instance.id': randomUUID(),
      }),
    )
    .merge(detectResources({ detectors: [envDetector] }));
}
