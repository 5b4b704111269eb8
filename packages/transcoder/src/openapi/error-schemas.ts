import type { JsonValue } from '@bufbuild/protobuf';
import { Code } from '../gen/google/rpc/code_pb.js';
import type { Schema } from './open-api.js';

/** The prefix of the `@type` of `google.rpc` messages in `details`. */
const TYPE_PREFIX = 'type.googleapis.com/google.rpc.';

/** The messages in `details` that the transcoder itself writes. */
const DETAILS = ['ErrorInfo', 'BadRequest', 'RetryInfo', 'RequestInfo'];
const OTHER = 'OtherDetail';

/** The names of the schemas of errors. */
export const ERROR_SCHEMAS = ['Error', ...DETAILS, 'FieldViolation', OTHER];

/** The failures of a contract. */
interface KnownFailures {
  readonly domain: string;
  /** All reasons that errors may give. */
  readonly reasons: readonly string[];
  /** Whether the failures of the server are known; if not, errors may have other reasons and details. */
  readonly closed: boolean;
}

/** The schemas of errors (AIP-193). */
export function errorSchemas({ domain, reasons, closed }: KnownFailures): Record<string, Schema> {
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
              enum: codeNames(),
              description: 'The kind of failure, for programs; `reason` is more exact.',
            },
            message: { type: 'string', description: 'What went wrong, for people. The wording may change.' },
            details: closed ? closedDetails() : openDetails(),
          },
        },
      },
    },
    ErrorInfo: detail('ErrorInfo', 'What went wrong, for programs.', ['reason', 'domain'], {
      reason: closed
        ? { type: 'string', enum: [...reasons], description: 'Why the request failed.' }
        : { type: 'string', description: 'Why the request failed.', examples: [...reasons] },
      domain: {
        type: 'string',
        ...(closed ? { const: domain } : { examples: [domain] }),
        description: 'The service that defines the reason.',
      },
      metadata: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Facts that belong to the reason.',
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
        },
        description: { type: 'string', description: 'What is allowed, then what came.' },
      },
    },
    RetryInfo: detail('RetryInfo', 'When to try again.', ['retryDelay'], {
      retryDelay: { type: 'string', description: 'The shortest pause, in seconds.', examples: ['1s'] },
    }),
    RequestInfo: detail('RequestInfo', 'The call, as it appears in the log.', ['requestId'], {
      requestId: { type: 'string', description: 'The same as in the header `X-Request-Id`.' },
    }),
    ...(closed ? {} : { [OTHER]: otherDetail() }),
  };
}

function codeNames(): string[] {
  const codes = Object.entries(Code).filter((entry): entry is [string, Code] => typeof entry[1] === 'number');
  return codes
    .filter(([, code]) => code !== Code.OK)
    .sort(([, code], [, otherCode]) => code - otherCode)
    .map(([name]) => name);
}

function closedDetails(): Schema {
  return {
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
  };
}

function openDetails(): Schema {
  return {
    type: 'array',
    description:
      'An `ErrorInfo` and a `RequestInfo`, a `BadRequest` where fields are wrong, a `RetryInfo` where the service asks for a pause, and whatever else the service sends.',
    items: { anyOf: [...DETAILS, OTHER].map(reference) },
  };
}

/** The schema of a detail whose message is not known. */
function otherDetail(): Schema {
  const types = DETAILS.map((name) => `${TYPE_PREFIX}${name}`);
  return {
    type: 'object',
    description: 'A detail of another type, with the fields of its message.',
    required: ['@type'],
    properties: { '@type': { type: 'string', not: { enum: types } } },
    additionalProperties: true,
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
  // An enum, not a constant, which some generators do not take for the value of a discriminator.
  const type: JsonValue = { type: 'string', enum: [`${TYPE_PREFIX}${name}`] };
  return {
    type: 'object',
    description,
    required: ['@type', ...required],
    properties: { '@type': type, ...properties },
  };
}
