import type { HealthCheckResponse_ServingStatus } from '../gen/healthcheck.js';
import { errorsOf, headersOfStatus } from './error-responses.js';
import type { Headers, Operation, Response } from './open-api.js';
import { headersFor } from './response-headers.js';

/** The tag of operations outside the contract. */
export const HEALTH_TAG = { name: 'Health', description: 'Whether the service can serve requests.' };

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
    ...errorsOf([400, 408, 414, 429, 431, 500, 501]),
    503: health(
      'NOT_SERVING',
      'The service cannot serve requests, or does not answer.',
      headersOfStatus[503],
    ),
  },
};

function health(
  status: Extract<keyof typeof HealthCheckResponse_ServingStatus, 'SERVING' | 'NOT_SERVING'>,
  description: string,
  headers: Headers = {},
): Response {
  const properties = { status: { type: 'string', const: status } };
  const schema = { type: 'object', required: ['status'], properties };
  return {
    description,
    headers: { ...headersFor('never'), ...headers },
    content: { 'application/json': { schema, examples: { [status]: { value: { status } } } } },
  };
}
