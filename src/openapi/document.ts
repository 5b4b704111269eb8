import { type Contract, readContract, successRules } from '@route-registry/transcoder/description';
import { ContractComments } from './contract-comments.js';
import { errorSchemas } from './error-schemas.js';
import { FailureReplies } from './failure-replies.js';
import { HEALTH_TAG, healthOperation } from './health-operation.js';
import { MessageSchemas } from './message-schemas.js';
import type { OpenApi, Operation, Paths, Response } from './open-api.js';
import { BEARER, type DescribedOperation, describeOperation, type OperationParts } from './operations.js';
import { COMMON_PARAMETERS } from './parameters.js';
import { ERROR_SCHEMA, failureResponse } from './responses.js';
import { SharedResponses } from './shared-responses.js';
import { SuccessResponses } from './success-responses.js';

/** The service that a document describes. */
export interface DescribedService {
  /** The contract with all its imports: a serialized `google.protobuf.FileDescriptorSet`. */
  readonly descriptorSet: Uint8Array;
  /** The contract's comments, by full proto name. */
  readonly comments: Readonly<Record<string, string>>;
  /** The scope that each method requires, by its name in lowerCamelCase. */
  readonly scopes: Readonly<Record<string, string>>;
  /** The realm in challenges (RFC 6750 3). */
  readonly realm: string;
}

const MANNERS =
  `HEAD is answered like GET, without the body; OPTIONS with 204 and \`Allow\`. Any other method on a path gets the
response \`MethodNotAllowed\`, and any other path \`PathUnknown\`; neither needs a token.
Paths are case-sensitive and have no trailing slash.`.replaceAll('\n', ' ');

/**
 * Describes the REST interface of a service in OpenAPI 3.1: paths and messages from the contract, bounds from the
 * domain, and statuses, headers and errors from the gateway's responses to examples. Only the location of the service
 * is left out.
 *
 * @throws Error with one sentence, if a header of the gateway has no description.
 */
export function describeService(service: DescribedService): Omit<OpenApi, 'servers'> {
  const { descriptorSet, scopes, realm } = service;
  const contract = readContract(descriptorSet);
  const comments = new ContractComments(service.comments);
  const schemas = new MessageSchemas(comments);
  const failures = new FailureReplies(contract, realm);
  const operations = [
    ...contractOperations(contract, { comments, schemas, failures, scopes }),
    healthOperation(failures),
  ];
  const shared = new SharedResponses(operations);
  const beside = {
    PathUnknown: failureResponse([failures.ofGateway('PATH_UNKNOWN')]),
    MethodNotAllowed: failureResponse([failures.ofGateway('METHOD_NOT_ALLOWED')]),
  };
  const reasons = reasonsOf([
    ...operations.flatMap(({ responses }) => [...responses.values()]),
    ...Object.values(beside),
  ]);
  const { domain } = contract;
  return {
    openapi: '3.1.1',
    info: {
      title: 'Route Registry',
      version: domain.split('.').at(-1) ?? domain,
      description: `${comments.ofPackage(domain)}\n\n${MANNERS}`,
    },
    security: [{ [BEARER]: [] }],
    tags: [...tagsOf(contract, comments), HEALTH_TAG],
    paths: pathsOf(operations, shared),
    components: {
      schemas: { ...Object.fromEntries(schemas.components), ...errorSchemas(domain, reasons) },
      parameters: COMMON_PARAMETERS,
      responses: { ...shared.components, ...beside },
      securitySchemes: {
        [BEARER]: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: howToGetToken(scopes),
        },
      },
    },
  };
}

function howToGetToken(scopes: DescribedService['scopes']): string {
  const all = [...new Set(Object.values(scopes))].sort().join(' ');
  return `A JWT (RFC 7519) with \`exp\`, \`sub\`, \`iss\` and \`aud\`, and the scopes in \`scope\` or \`scp\`. The issuer that the service trusts gives one; for a service with a secret, this prints one, in its folder: \`npm run --silent token -- --scope "${all}" --sub me\`. In a form that asks for the token, give it alone, without the word Bearer.`;
}

/** The HTTP methods that OpenAPI can describe. */
const VERBS: readonly string[] = ['GET', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'HEAD', 'PATCH', 'TRACE'];

function contractOperations(
  contract: Contract,
  parts: Omit<OperationParts, 'successes'>,
): DescribedOperation[] {
  const { bindings } = contract;
  const rules = successRules(bindings);
  const successes = new SuccessResponses(contract, rules, parts.schemas);
  return [...rules]
    .filter(([{ verb }]) => VERBS.includes(verb))
    .map(([binding, rule]) => {
      const { method } = binding;
      const number = bindings.filter((each) => each.method === method).indexOf(binding) + 1;
      const operationId = number === 1 ? method.localName : `${method.localName}${number}`;
      return describeOperation(binding, rule, operationId, { ...parts, successes });
    });
}

function tagsOf({ bindings }: Contract, comments: ContractComments): OpenApi['tags'] {
  const services = new Set(bindings.map(({ method }) => method.parent));
  return [...services].map((service) => ({
    name: service.name,
    description: `${comments.summary(service)}.`,
  }));
}

function pathsOf(operations: readonly DescribedOperation[], shared: SharedResponses): Paths {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const described of operations) {
    const { path, verb, operation } = described;
    (paths[path] ??= {})[verb] = { ...operation, responses: shared.of(described) };
  }
  return paths;
}

/** The reasons among the examples of error responses, each once. */
function reasonsOf(responses: readonly Response[]): string[] {
  const errors = responses
    .flatMap(({ content }) => Object.values(content ?? {}))
    .filter(({ schema }) => schema === ERROR_SCHEMA);
  return [...new Set(errors.flatMap(({ examples }) => Object.keys(examples)))].sort();
}
