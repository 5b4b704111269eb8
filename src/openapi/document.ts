import { readContract, successRules } from '@route-registry/transcoder/description';
import { comments as generatedComments } from '../gen/comments.js';
import { descriptorSet } from '../gen/descriptor-set.js';
import { SCOPES } from '../routes/route-service.js';
import { ContractComments } from './contract-comments.js';
import { errorResponses, reasons } from './error-responses.js';
import { DOMAIN, errorSchemas } from './error-schemas.js';
import { HEALTH_TAG, healthOperation } from './health-operation.js';
import { MessageSchemas } from './message-schemas.js';
import type { OpenApi, Operation } from './open-api.js';
import { BEARER, operationOf } from './operations.js';
import { COMMON_PARAMETERS } from './parameters.js';

const METHODS_AND_PATHS =
  `HEAD is answered like GET, without the body; OPTIONS with 204 and \`Allow\`. Any other method on a path gets the
response \`MethodNotAllowed\`, and any other path \`PathUnknown\`; neither needs a token.
Paths are case-sensitive and have no trailing slash.`.replaceAll('\n', ' ');

const TOKEN_COMMAND = `npm run --silent token -- --scope "${Object.values(SCOPES).sort().join(' ')}" --sub me`;

/** What somebody does first who sees the document as a page. */
const FIRST_STEPS = `1. Get a token: from the issuer that the service trusts, or, in the folder of a service with a secret, by
   \`${TOKEN_COMMAND}\`.
2. **Authorize** with the token alone, without the word Bearer.
3. Open an operation, and **Execute** it.`;

const HOW_TO_GET_TOKEN =
  `A JWT (RFC 7519) with \`exp\`, \`sub\`, \`iss\` and \`aud\`, and the scopes in \`scope\` or \`scp\`. The issuer that
the service trusts gives one; for a service with a secret, this prints one, in its folder:
\`${TOKEN_COMMAND}\`. In a form that asks for the
token, give it alone, without the word Bearer.`.replaceAll('\n', ' ');

/**
 * Describes the REST interface in OpenAPI 3.1: paths and messages from the contract, bounds from the domain; successes
 * by the rules of the transcoder; failures as written here. Only the location of the service is left out.
 *
 * @throws Error with one sentence, if the contract has a type that no schema is known for.
 */
export function describeService(): Omit<OpenApi, 'servers'> {
  const { bindings } = readContract(descriptorSet);
  const comments = new ContractComments(generatedComments);
  const schemas = new MessageSchemas(comments);
  const paths: Record<string, Record<string, Operation>> = {};
  for (const [binding, rule] of successRules(bindings)) {
    const operation = operationOf(binding, rule, { comments, schemas, scopes: SCOPES });
    (paths[binding.template.source] ??= {})[binding.verb.toLowerCase()] = operation;
  }
  const services = [...new Set(bindings.map(({ method }) => method.parent))];
  const tags = services.map((service) => ({
    name: service.name,
    description: `${comments.summary(service)}.`,
  }));
  return {
    openapi: '3.1.1',
    info: {
      title: 'Route Registry',
      version: DOMAIN.split('.').at(-1) ?? DOMAIN,
      description: [comments.ofPackage(DOMAIN), FIRST_STEPS, METHODS_AND_PATHS].join('\n\n'),
    },
    security: [{ [BEARER]: [] }],
    tags: [...tags, HEALTH_TAG],
    paths: { ...paths, '/healthz': { get: healthOperation } },
    components: {
      schemas: { ...schemas.components, ...errorSchemas(reasons) },
      parameters: COMMON_PARAMETERS,
      responses: errorResponses,
      securitySchemes: {
        [BEARER]: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: HOW_TO_GET_TOKEN },
      },
    },
  };
}
