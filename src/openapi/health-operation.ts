import type { Operation, Response } from '@route-registry/transcoder/openapi';
import type { HealthCheckResponse_ServingStatus } from '../gen/healthcheck.js';

/** The tag of operations outside the contract. */
export const HEALTH_TAG = { name: 'Health', description: 'Whether the service can serve requests.' };

const FAILURES = [400, 408, 414, 429, 431, 500, 501].map(
  (status) => [status, { $ref: `#/components/responses/Error${status}` }] as const,
);

const RETRY_AFTER = {
  description: 'The number of seconds to wait before a retry.',
  required: true,
  schema: { type: 'integer', minimum: 0 },
  example: 1,
};

/** The health check of the whole server, which the gateway serves in addition to the contract's paths. */
export const healthOperation: Operation = {
  operationId: 'checkHealth',
  tags: [HEALTH_TAG.name],
  summary: 'Reports whether the service can serve requests',
  description: 'For load balancers and monitors. Needs no token.',
  security: [],
  parameters: [{ $ref: '#/components/parameters/X-Request-Id' }],
  responses: {
    200: health('SERVING', 'The service can serve requests.'),
    ...Object.fromEntries(FAILURES),
    503: health('NOT_SERVING', 'The service cannot serve requests, or does not answer.', {
      'Retry-After': RETRY_AFTER,
    }),
  },
};

function health(
  status: Extract<keyof typeof HealthCheckResponse_ServingStatus, 'SERVING' | 'NOT_SERVING'>,
  description: string,
  further: Response['headers'] = {},
): Response {
  const properties = { status: { type: 'string', const: status } };
  const schema = { type: 'object', required: ['status'], properties };
  return {
    description,
    headers: {
      'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' },
      'Cache-Control': { $ref: '#/components/headers/NoStore' },
      ...further,
    },
    content: { 'application/json': { schema, examples: { [status]: { value: { status } } } } },
  };
}
