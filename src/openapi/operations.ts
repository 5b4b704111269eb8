import type { DescMessage } from '@bufbuild/protobuf';
import type { Binding, FailureReason, SuccessRule } from '@route-registry/transcoder/description';
import type { ContractComments } from './contract-comments.js';
import type { FailureReplies, FailureReply } from './failure-replies.js';
import type { MessageSchemas } from './message-schemas.js';
import type { Operation, Response } from './open-api.js';
import { parametersOf } from './parameters.js';
import { failureResponses } from './responses.js';
import type { SuccessResponses } from './success-responses.js';

/** An operation with its own responses, before they are shared with others. */
export interface DescribedOperation {
  readonly path: string;
  /** The HTTP method in lower case. */
  readonly verb: string;
  readonly operation: Omit<Operation, 'responses'>;
  readonly responses: ReadonlyMap<number, Response>;
}

/** The name of the security scheme. */
export const BEARER = 'bearer';

/** The operations that can end with each failure of the gateway: every one, those with conditions, or none. */
const meetsOperations = {
  REQUEST_MALFORMED: 'every',
  REQUEST_TIMED_OUT: 'every',
  REQUEST_TOO_LARGE: 'every',
  CONTENT_TYPE_UNSUPPORTED: 'every',
  TARGET_TOO_LONG: 'every',
  HEADERS_TOO_LARGE: 'every',
  TRANSFER_CODING_UNSUPPORTED: 'every',
  PRECONDITION_FAILED: 'conditional',
  OVERLOADED: 'every',
  SHUTTING_DOWN: 'every',
  DEADLINE_EXCEEDED: 'every',
  INTERNAL: 'every',
  PATH_UNKNOWN: 'none',
  METHOD_NOT_ALLOWED: 'none',
} as const satisfies Record<FailureReason, 'every' | 'conditional' | 'none'>;

function gatewayReasons({ caching, creates }: SuccessRule): FailureReason[] {
  return (Object.keys(meetsOperations) as FailureReason[]).filter((reason) => {
    const which = meetsOperations[reason];
    return which === 'every' || (which === 'conditional' && (creates || caching !== undefined));
  });
}

/** The parts that describe operations. */
export interface OperationParts {
  readonly comments: ContractComments;
  readonly schemas: MessageSchemas;
  readonly successes: SuccessResponses;
  readonly failures: FailureReplies;
  /** The scope that each method requires, by its name in lowerCamelCase. */
  readonly scopes: Readonly<Record<string, string>>;
}

/** The operation of a binding. */
export function describeOperation(
  binding: Binding,
  rule: SuccessRule,
  operationId: string,
  parts: OperationParts,
): DescribedOperation {
  const { method } = binding;
  const { comments, schemas, successes, scopes } = parts;
  const scope = scopes[method.localName];
  const body = requestBodyOf(binding, parts);
  return {
    path: binding.template.source.replace(/\{([^}=]+)=[^}]*\}/g, '{$1}'),
    verb: binding.verb.toLowerCase(),
    operation: {
      operationId,
      tags: [method.parent.name],
      summary: comments.summary(method),
      description: comments.description(method),
      security: [{ [BEARER]: scope === undefined ? [] : [scope] }],
      parameters: parametersOf(binding, rule, schemas, comments),
      ...(body === undefined ? {} : { requestBody: body }),
    },
    responses: new Map([...successes.of(binding), ...failureResponses(failuresOf(binding, rule, parts))]),
  };
}

/** The failures of the gateway, of the upstream, and those that the contract's comments name. */
function failuresOf(
  { method }: Binding,
  rule: SuccessRule,
  { comments, failures, scopes }: OperationParts,
): FailureReply[] {
  const own = gatewayReasons(rule).map((reason) => failures.ofGateway(reason));
  const nearer = [...own, ...failures.ofChannel()];
  const further = comments.reasons(method);
  for (const { reason } of nearer) further.delete(reason);
  return [...nearer, ...failures.ofServer(further, scopes[method.localName])];
}

function requestBodyOf(
  { method, body }: Binding,
  { comments, schemas }: OperationParts,
): Operation['requestBody'] {
  if (body === undefined) return undefined;
  if (body === '*') return jsonBody(comments.text(method.input), schemas, method.input);
  if (body.fieldKind === 'message') return jsonBody(comments.text(body), schemas, body.message);
  const content = { 'application/json': { schema: schemas.field(body, 'sent'), examples: {} } };
  return { required: true, description: comments.text(body), content };
}

function jsonBody(
  description: string,
  schemas: MessageSchemas,
  message: DescMessage,
): NonNullable<Operation['requestBody']> {
  const examples = { [message.name]: { value: schemas.example(message, 'sent') } };
  const content = { 'application/json': { schema: schemas.message(message, 'sent'), examples } };
  return { required: true, description, content };
}
