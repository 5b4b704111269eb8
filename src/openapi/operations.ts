import type { Binding, SuccessRule } from '@route-registry/transcoder/description';
import type { ContractComments } from './contract-comments.js';
import { errorsOf } from './error-responses.js';
import type { MessageSchemas } from './message-schemas.js';
import type { Operation, Response, Responses } from './open-api.js';
import { parametersOf } from './parameters.js';
import { header, headersFor } from './response-headers.js';

/** The name of the security scheme. */
export const BEARER = 'bearer';

/** The statuses of failures that any method can end with. */
const ANYWHERE = [400, 401, 403, 408, 413, 414, 415, 429, 431, 499, 500, 501, 503, 504];

/** The parts that describe operations. */
interface OperationParts {
  readonly comments: ContractComments;
  readonly schemas: MessageSchemas;
  /** The scope that each method requires, by its name in lowerCamelCase. */
  readonly scopes: Readonly<Record<string, string>>;
}

/** The operation of a binding. Its failures are those of every method and those that its comment names. */
export function operationOf(
  binding: Binding,
  rule: SuccessRule,
  { comments, schemas, scopes }: OperationParts,
): Operation {
  const { method, body } = binding;
  const scope = scopes[method.localName];
  const sent = body === '*' ? method.input : body;
  const conditional = rule.creates || rule.caching !== undefined ? [412] : [];
  return {
    operationId: method.localName,
    tags: [method.parent.name],
    summary: comments.summary(method),
    description: comments.description(method),
    security: [{ [BEARER]: scope === undefined ? [] : [scope] }],
    parameters: parametersOf(binding, rule, schemas, comments),
    ...(sent && {
      requestBody: {
        required: true,
        description: comments.text(sent),
        content: schemas.body(sent, 'sent'),
      },
    }),
    responses: {
      ...successesOf(binding, rule, schemas),
      ...errorsOf([...ANYWHERE, ...conditional], comments.reasons(method)),
    },
  };
}

/** The answers to successes, as the transcoder gives them by the same rule. */
function successesOf(
  { method, responseBody }: Binding,
  rule: SuccessRule,
  schemas: MessageSchemas,
): Responses {
  const { output } = method;
  const headers = headersFor(rule.caching ?? 'never');
  if (!rule.creates) {
    const content = schemas.body(responseBody ?? output, 'returned');
    const current = { description: 'The copy that the client has is current.', headers };
    return {
      200: { description: 'Success.', headers, content },
      ...(rule.caching === undefined ? {} : { 304: current }),
    };
  }
  // One schema for both, so that generated clients have one type for the result of a create.
  const schema = schemas.message(output, 'created');
  const dryRun: Response = {
    description: 'A dry run: the request is valid, and nothing was stored.',
    headers,
    content: schemas.body(output, 'sent', schema),
  };
  return {
    ...(rule.validateOnly === undefined ? {} : { 200: dryRun }),
    201: {
      description: 'Created.',
      headers: { ...headers, ...(rule.location && { Location: LOCATION }) },
      content: schemas.body(output, 'returned', { ...schema, required: schemas.assigned(output) }),
    },
  };
}

// Without an example, since it begins with the base path.
const LOCATION = header('The path of the new resource, which begins with the base path of the server.', {
  type: 'string',
  format: 'uri-reference',
});
