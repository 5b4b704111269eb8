import { type DescField, ScalarType } from '@bufbuild/protobuf';
import { type Binding, hasTextForm, type SuccessRule } from '@route-registry/transcoder/description';
import type { ContractComments } from './contract-comments.js';
import { factsOf, REQUEST_ID_BOUNDS } from './field-facts.js';
import type { MessageSchemas } from './message-schemas.js';
import type { Parameter, Reference } from './open-api.js';

/** The header parameters of every operation, by their component names. */
export const COMMON_PARAMETERS: Readonly<Record<string, Parameter>> = {
  'X-Request-Id': {
    name: 'X-Request-Id',
    in: 'header',
    description:
      'The id of the call in the log, in errors and in the response. Default: a new id, which also replaces a malformed one.',
    schema: { type: 'string', ...REQUEST_ID_BOUNDS },
  },
  'Request-Timeout': {
    name: 'Request-Timeout',
    in: 'header',
    description:
      "The longest time that the client waits, in seconds; a decimal. Default and maximum: the service's own limit.",
    schema: { type: 'string', pattern: '^[0-9]{1,9}(\\.[0-9]{1,9})?$', examples: ['2.5'] },
  },
  traceparent: {
    name: 'traceparent',
    in: 'header',
    description: 'The position of the call in a trace (W3C Trace Context); passed on.',
    schema: { type: 'string', examples: ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'] },
  },
  tracestate: {
    name: 'tracestate',
    in: 'header',
    description: 'Vendor-specific trace data that accompanies `traceparent` (W3C Trace Context); passed on.',
    schema: { type: 'string' },
  },
};

const IF_MATCH: Parameter = {
  name: 'If-Match',
  in: 'header',
  description: 'Entity tags that the caller expects; where none of them is current, the answer is 412.',
  schema: { type: 'string' },
};

const IF_NONE_MATCH: Parameter = {
  name: 'If-None-Match',
  in: 'header',
  description:
    'Entity tags that the client has; if one of them is current, the answer is 304 without a body.',
  schema: { type: 'string' },
};

/** The parameters of an operation: path, query, then headers. */
export function parametersOf(
  { method, variables, body }: Binding,
  { caching }: SuccessRule,
  schemas: MessageSchemas,
  comments: ContractComments,
): (Parameter | Reference)[] {
  const { fields } = method.input;
  const parameter = (name: string, place: Parameter['in'], field: DescField): Parameter => {
    const example = factsOf(field.parent.typeName, field.jsonName)?.example;
    return {
      name,
      in: place,
      description: comments.text(field),
      schema: {
        ...schemas.field(field, 'sent'),
        ...(field.scalar === ScalarType.BOOL ? { default: false } : {}),
        ...(example === undefined ? {} : { examples: [example] }),
      },
    };
  };
  const inPath = variables.map(({ fieldPath, field }): Parameter => ({
    ...parameter(fieldPath.join('.'), 'path', field),
    required: true,
  }));
  const bound = new Set([...variables.map(({ parents, field }) => parents[0] ?? field), body]);
  const inQuery = fields
    .filter((field) => body !== '*' && !bound.has(field) && hasTextForm(field))
    .map((field) => parameter(field.jsonName, 'query', field));
  const idempotencyKey = fields
    .filter(({ name }) => name === 'request_id')
    .map((field) => ({
      ...parameter('Idempotency-Key', 'header', field),
      description: `The same as \`${field.jsonName}\`, as a header. If both are given, they must agree.`,
    }));
  const common = Object.keys(COMMON_PARAMETERS).map((name) => ({ $ref: `#/components/parameters/${name}` }));
  const conditions = caching === undefined ? [] : [IF_MATCH, IF_NONE_MATCH];
  return [...inPath, ...inQuery, ...idempotencyKey, ...conditions, ...common];
}
