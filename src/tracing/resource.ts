import { randomUUID } from 'node:crypto';
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources';

/**
 * What all spans of the process have in common (OpenTelemetry semantic conventions, service resource). The name, and
 * everything else, can be changed by `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`.
 */
export function serviceResource(version: string): Resource {
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
