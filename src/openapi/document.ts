import { describe, type OpenApi } from '@route-registry/transcoder/openapi';
import { TRANSCODING } from '../gateway/transcoding.js';
import { comments } from '../gen/comments.js';
import { descriptorSet } from '../gen/descriptor-set.js';
import { RouteServiceDefinition } from '../gen/routing/v1/route_service.js';
import { ALL_SCOPES, REALM, SCOPES } from '../routes/route-service.js';
import { failures } from './failure-facts.js';
import { facts, headers } from './field-facts.js';
import { HEALTH_TAG, healthOperation } from './health-operation.js';

const { fullName, methods } = RouteServiceDefinition;

const BEARER = 'bearer';

const TOKEN_COMMAND = `npm run --silent token -- --scope "${ALL_SCOPES.join(' ')}" --sub me`;

/** First steps for someone who reads the document as a web page. */
const FIRST_STEPS = `1. Get a token with \`${TOKEN_COMMAND}\`
   in the folder of the service, or from its issuer.
2. Click **Authorize** and paste the token, without the word Bearer.
3. Open an operation and click **Execute**.`;

const HOW_TO_GET_TOKEN =
  `A JWT (RFC 7519) with \`exp\`, \`sub\`, \`iss\` and \`aud\`, and its scopes in \`scope\` or \`scp\`. Get one from the
issuer that the service trusts or, for a service with a secret, with \`${TOKEN_COMMAND}\` in its folder. In a form that
asks for the token, paste it alone, without the word Bearer.`.replaceAll('\n', ' ');

/** The REST interface in OpenAPI 3.1, without a base path. */
export function describeService(): OpenApi {
  const document = describe({
    ...TRANSCODING,
    descriptorSet,
    realm: REALM,
    // The default of MAX_CALLS, which the example of an OVERLOADED error quotes.
    maxRequests: 2_048,
    info: { title: 'Route Registry', description: `${comments['routing.v1'] ?? ''}\n\n${FIRST_STEPS}` },
    comments: inWordsOfRest(comments),
    facts,
    headers,
    failures,
    security: {
      schemes: {
        [BEARER]: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: HOW_TO_GET_TOKEN },
      },
      requirements: [{ [BEARER]: [] }],
      methods: Object.fromEntries(
        Object.entries(SCOPES).map(([name, scope]) => [
          `${fullName}.${methods[name as keyof typeof SCOPES].name}`,
          [{ [BEARER]: [scope] }],
        ]),
      ),
    },
  });
  return {
    ...document,
    tags: [...document.tags, HEALTH_TAG],
    paths: { ...document.paths, '/healthz': { get: healthOperation } },
  };
}

/** Adapts the contract's comments to REST: metadata is called a header, and references to Google's AIPs are omitted. */
function inWordsOfRest(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [
      name,
      text.replace(/\bmetadata(?=\s+`)/g, 'header').replace(/\s+\(AIP-\d+\)/g, ''),
    ]),
  );
}
