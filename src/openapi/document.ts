import { describe, type OpenApi } from '@route-registry/transcoder/openapi';
import { TRANSCODING } from '../gateway/transcoding.js';
import { comments } from '../gen/comments.js';
import { descriptorSet } from '../gen/descriptor-set.js';
import { RouteServiceDefinition } from '../gen/routing/v1/route_service.js';
import { REALM, SCOPES } from '../routes/route-service.js';
import { failures } from './failure-facts.js';
import { facts, headers } from './field-facts.js';
import { HEALTH_TAG, healthOperation } from './health-operation.js';

const { fullName, methods } = RouteServiceDefinition;

const BEARER = 'bearer';

const HOW_TO_GET_TOKEN =
  `A JWT (RFC 7519) with \`exp\`, \`sub\`, \`iss\` and \`aud\`, and the scopes in \`scope\` or \`scp\`. The issuer that
the service trusts gives one; for a service with a secret, this prints one, in its folder:
\`npm run --silent token -- --scope "${Object.values(SCOPES).sort().join(' ')}" --sub me\`. In a form that asks for the
token, give it alone, without the word Bearer.`.replaceAll('\n', ' ');

/** The REST interface in OpenAPI 3.1, without a base path. */
export function describeService(): OpenApi {
  const document = describe({
    ...TRANSCODING,
    descriptorSet,
    realm: REALM,
    maxRequests: 2_048,
    info: { title: 'Route Registry' },
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

/** Comments without metadata, which are headers for REST clients, and without the numbers of Google's guidelines (AIPs). */
function inWordsOfRest(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [
      name,
      text.replace(/\bmetadata(?=\s+`)/g, 'header').replace(/\s+\(AIP-\d+\)/g, ''),
    ]),
  );
}
