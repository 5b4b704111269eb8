import { randomUUID } from 'node:crypto';
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources';

/**
 * The attributes that all spans of the process share (OpenTelemetry semantic conventions, service resource).
 * `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` can override the name and all other attributes.
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
