import type { HealthCheckResponse_ServingStatus } from '../gen/healthcheck.js';
import type { FailureReason } from '@route-registry/transcoder/description';
import type { FailureReplies } from './failure-replies.js';
import type { Schema } from './open-api.js';
import type { DescribedOperation } from './operations.js';
import { failureResponses, responseOf } from './responses.js';

/** The tag of operations outside the contract. */
export const HEALTH_TAG = { name: 'Health', description: 'Whether the service can serve requests.' };

const REASONS = [
  'REQUEST_MALFORMED',
  'REQUEST_TIMED_OUT',
  'TARGET_TOO_LONG',
  'HEADERS_TOO_LARGE',
  'TRANSFER_CODING_UNSUPPORTED',
  'OVERLOADED',
  'INTERNAL',
] as const satisfies readonly FailureReason[];

/** The health check of the whole server, which the gateway serves in addition to the contract's paths. */
export function healthOperation(failures: FailureReplies): DescribedOperation {
  const own = REASONS.map((reason) => failures.ofGateway(reason));
  const serving = reply(200, 'SERVING', {});
  const notServing = reply(503, 'NOT_SERVING', { 'Retry-After': '1' });
  return {
    path: '/healthz',
    verb: 'get',
    operation: {
      operationId: 'checkHealth',
      tags: [HEALTH_TAG.name],
      summary: 'Reports whether the service can serve requests',
      description: 'For load balancers and monitors. Needs no token.',
      security: [],
      parameters: [{ $ref: '#/components/parameters/X-Request-Id' }],
    },
    responses: new Map([
      [200, responseOf('The service can serve requests.', [serving], healthSchema('SERVING'))],
      ...failureResponses(own),
      [
        503,
        responseOf(
          'The service cannot serve requests, or does not answer.',
          [notServing],
          healthSchema('NOT_SERVING'),
        ),
      ],
    ]),
  };
}

type Health = Extract<keyof typeof HealthCheckResponse_ServingStatus, 'SERVING' | 'NOT_SERVING'>;

function reply(status: number, health: Health, headers: Readonly<Record<string, string>>) {
  return { name: health, reply: { status, headers, body: JSON.stringify({ status: health }) } };
}

function healthSchema(health: Health): Schema {
  return {
    type: 'object',
    required: ['status'],
    properties: { status: { type: 'string', const: health } },
  };
}
