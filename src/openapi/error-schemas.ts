import { status } from '@grpc/grpc-js';
import { protobufPackage } from '../gen/routing/v1/route_service.js';
import type { Schema } from './open-api.js';

/** The proto package, which is in every `google.rpc.ErrorInfo`. */
export const DOMAIN = protobufPackage;
/** What the names of messages in `details` begin with. */
export const TYPE_PREFIX = 'type.googleapis.com/google.rpc.';
/** The messages in `details`. */
const DETAILS = ['ErrorInfo', 'BadRequest', 'RetryInfo', 'RequestInfo'];

/** The schemas of errors (AIP-193). @param reasons all reasons that errors may give */
export function errorSchemas(reasons: readonly string[]): Record<string, Schema> {
  const names = Object.keys(status).filter((name) => /^[A-Z]/.test(name) && name !== 'OK');
  return {
    Error: {
      type: 'object',
      description: 'The body of every error response.',
      required: ['error'],
      properties: {
        error: {
          type: 'object',
          required: ['code', 'status', 'message', 'details'],
          properties: {
            code: { type: 'integer', minimum: 400, maximum: 599, description: 'The HTTP status.' },
            status: {
              type: 'string',
              enum: names,
              description: 'The kind of failure, for programs; `reason` is more exact.',
            },
            message: { type: 'string', description: 'What went wrong, for people. The wording may change.' },
            details: {
              type: 'array',
              description:
                'One `ErrorInfo`, a `BadRequest` where fields are wrong, a `RetryInfo` where the service asks for a pause, and one `RequestInfo`.',
              items: {
                oneOf: DETAILS.map(reference),
                discriminator: {
                  propertyName: '@type',
                  mapping: Object.fromEntries(
                    DETAILS.map((name) => [`${TYPE_PREFIX}${name}`, `#/components/schemas/${name}`]),
                  ),
                },
              },
              contains: reference('ErrorInfo'),
              maxContains: 1,
            },
          },
        },
      },
    },
    ErrorInfo: detail('ErrorInfo', 'What went wrong, for programs.', ['reason', 'domain'], {
      reason: { type: 'string', enum: [...reasons], description: 'Why the request failed.' },
      domain: { type: 'string', const: DOMAIN, description: 'The service that defines the reason.' },
      metadata: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Facts that belong to the reason, for example `route_id` or `scope`.',
      },
    }),
    BadRequest: detail('BadRequest', 'Every problem in the request.', ['fieldViolations'], {
      fieldViolations: { type: 'array', minItems: 1, items: reference('FieldViolation') },
    }),
    FieldViolation: {
      type: 'object',
      description: 'One problem in the request.',
      required: ['field', 'description'],
      properties: {
        field: {
          type: 'string',
          description:
            'Path of the field, its words joined by underscores, or the name of the parameter or header.',
          examples: ['route.middleware[2]'],
        },
        description: { type: 'string', description: 'What was sent and what is allowed.' },
      },
    },
    RetryInfo: detail('RetryInfo', 'When to try again.', ['retryDelay'], {
      retryDelay: { type: 'string', description: 'The shortest pause, in seconds.', examples: ['1s'] },
    }),
    RequestInfo: detail('RequestInfo', 'The call, as it appears in the log.', ['requestId'], {
      requestId: { type: 'string', description: 'The same as in the header `X-Request-Id`.' },
    }),
  };
}

function reference(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

function detail(
  name: string,
  description: string,
  required: readonly string[],
  properties: Readonly<Record<string, Schema>>,
): Schema {
  return {
    type: 'object',
    description,
    required: ['@type', ...required],
    properties: { '@type': { type: 'string', const: `${TYPE_PREFIX}${name}` }, ...properties },
  };
}
