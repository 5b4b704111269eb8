import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { status } from '@grpc/grpc-js';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import jwt from 'jsonwebtoken';
import { describe, expect, it } from 'vitest';
import { failures } from '@route-registry/transcoder';
import type { Header, Operation, Reference, Response, Schema } from '@route-registry/transcoder/openapi';
import { MessageCache } from '../../src/calls/service.js';
import { FAILURES } from '../../src/calls/failures.js';
import { DEFAULT_SCOPES, routeService } from '../../src/routes/route-service.js';
import { Registry } from '../../src/registry/registry.js';
import type { RouteStore } from '../../src/registry/route-store.js';
import { built } from '../support/built.js';
import { headersOf, openApi, validatorOf } from '../support/openapi.js';

const document = openApi();
const { paths, components } = document;
const operations = Object.entries(paths).flatMap(([path, byVerb]) =>
  Object.entries(byVerb).map(([verb, operation]) => ({ path, verb, operation })),
);

function operationOf(operationId: string): Operation {
  const found = operations.find(({ operation }) => operation.operationId === operationId);
  if (found === undefined) throw new Error(`There is no operation ${operationId}.`);
  return found.operation;
}

function resolved(response: Response | Reference | undefined): Response {
  if (response === undefined) throw new Error('There is no such response.');
  if (!('$ref' in response)) return response;
  return resolved(components.responses[response.$ref.replace('#/components/responses/', '')]);
}

/** A response of an operation, with its references resolved. */
function responseOf(
  operationId: string,
  status: number,
): Response & { readonly headers: Record<string, Header> } {
  const response = resolved(operationOf(operationId).responses[String(status)]);
  return { ...response, headers: headersOf(document, response) };
}

/** Every example of a header or a body, with the schema that it belongs to. */
const examples = [
  ...operations.flatMap(({ operation }) => [
    ...Object.values(operation.responses).map(resolved),
    ...(operation.requestBody === undefined
      ? []
      : [{ description: '', headers: {}, content: operation.requestBody.content }]),
  ]),
  ...Object.values(components.responses),
].flatMap((response) => [
  ...Object.entries(headersOf(document, response)).flatMap(([name, { schema, example }]) =>
    example === undefined ? [] : [{ name, schema, value: example }],
  ),
  ...Object.values(response.content ?? {}).flatMap(({ schema, examples = {} }) =>
    Object.entries(examples).map(([name, { value }]) => ({ name, schema, value })),
  ),
]);

/** The schema with an absolute reference, so that Ajv can resolve it on its own. */
function absolute(schema: Schema): Schema {
  const { $ref } = schema;
  return typeof $ref === 'string' ? { ...schema, $ref: `openapi${$ref}` } : schema;
}

describe('the OpenAPI document', () => {
  it('passes the strict rules of Redocly', async () => {
    const config = await createConfig({
      extends: ['recommended-strict'],
      rules: {
        // The project has no license to name.
        'info-license': 'off',
        // OpenAPI has no place for the responses to unknown paths and methods.
        'no-unused-components': 'off',
      },
    });
    const problems = await lintFromString({ source: JSON.stringify(document), config });
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual(
      [],
    );
  });

  it('has valid examples of bodies and headers', () => {
    const ajv = validatorOf(document);
    const invalid = examples.filter(({ schema, value }) => !ajv.validate(absolute(schema), value));
    expect(examples.length).toBeGreaterThan(100);
    expect(invalid).toEqual([]);
  });

  it('has valid examples in its schemas', () => {
    const ajv = validatorOf(document);
    for (const [name, { examples: values = [] }] of Object.entries(components.schemas)) {
      const validate = ajv.compile({ $ref: `openapi#/components/schemas/${name}` });
      for (const value of values as unknown[])
        expect([name, validate(value), validate.errors]).toEqual([name, true, null]);
    }
  });

  it('has the two operations on routes and the health check', () => {
    expect(operations.map(({ path, verb, operation }) => [verb, path, operation.operationId])).toEqual([
      ['post', '/v1/routing', 'createRoute'],
      ['get', '/v1/routing/{route_id}', 'getRoute'],
      ['get', '/healthz', 'checkHealth'],
    ]);
  });

  it.each([
    ['', '/'],
    ['/api/routes', '/api/routes'],
  ])('with the base path "%s" names the server %s and is otherwise unchanged', (basePath, url) => {
    const based = openApi(basePath);
    expect(based.servers.map((server) => server.url)).toEqual([url]);
    expect({ ...based, servers: [] }).toEqual({ ...document, servers: [] });
  });

  it('has no example for Location, whose value depends on the base path', () => {
    expect(responseOf('createRoute', 201).headers['Location']).not.toHaveProperty('example');
  });
});

describe('the description of the bearer token', () => {
  const description = document.components.securitySchemes['bearer']?.['description'] as string;

  it('has a token command that works as printed', () => {
    const [, options = ''] = /`npm run --silent token -- ([^`]+)`/.exec(description) ?? [];
    const args = (options.match(/"[^"]*"|\S+/g) ?? []).map((each) => each.replaceAll('"', ''));
    const env = { JWT_SECRET: 's'.repeat(32), JWT_ISSUER: 'i', JWT_AUDIENCE: 'a' };
    const token = execFileSync(process.execPath, [join(built(), 'token.js'), ...args], {
      env,
      stdio: 'pipe',
    });
    expect(jwt.decode(String(token).trim())).toMatchObject({ scope: 'routes:read routes:write', sub: 'me' });
  });
});

describe('the operations', () => {
  const registry = new Registry({
    store: {} as RouteStore,
    duplicates: 'allow',
    now: () => 0,
    newId: () => '',
  });

  it.each([
    ['createRoute', [200, 201, 400, 401, 403, 409, 412, 413, 415, 429, 500, 503, 504]],
    ['getRoute', [200, 304, 400, 401, 403, 404, 412, 413, 415, 429, 500, 503, 504]],
    ['checkHealth', [200, 400, 429, 500, 503]],
  ])('%s lists every status that it can return, those of the transport as one', (operationId, statuses) => {
    expect(Object.keys(operationOf(operationId).responses)).toEqual([...statuses.map(String), 'default']);
  });

  it.each(routeService(registry, new MessageCache(0), DEFAULT_SCOPES))(
    'require the same scope as the server: $path',
    ({ path, access }) => {
      const [, name = ''] = /\/(\w+)$/.exec(path) ?? [];
      const { security = [] } = operationOf(name.charAt(0).toLowerCase() + name.slice(1));
      expect(security.map(({ bearer }) => ({ scope: bearer?.[0] }))).toEqual([access]);
    },
  );

  it('checkHealth needs no token', () => {
    expect(operationOf('checkHealth').security).toEqual([]);
  });
});

describe('the schemas', () => {
  function schemaOf(name: string): Schema {
    const schema = components.schemas[name];
    if (schema === undefined) throw new Error(`There is no schema ${name}.`);
    return schema;
  }

  it('Route requires all six fields', () => {
    expect(schemaOf('Route')['required']).toEqual([
      'id',
      'method',
      'path',
      'middleware',
      'handler',
      'createdAt',
    ]);
    expect(Object.keys(schemaOf('Route')['properties'] ?? {})).toEqual(schemaOf('Route')['required']);
  });

  it('CreatedRoute has the assigned fields, which only a dry run omits', () => {
    expect(schemaOf('CreatedRoute')['required']).toEqual(['method', 'path', 'middleware', 'handler']);
    expect(schemaOf('CreatedRoute')['properties']).toEqual(schemaOf('Route')['properties']);
    const { schema } = responseOf('createRoute', 201).content?.['application/json'] ?? {};
    expect(schema?.['required']).toEqual(['id', 'createdAt']);
  });
});

describe('the documented failure reasons', () => {
  const documented = components.schemas['ErrorInfo']?.['properties'] as { reason: { enum: string[] } };

  /** The error in the one example of a response. */
  function errorIn({ content }: Response): { code: number; status: string; reason: string } {
    const [[reason, { value }] = ['', { value: null }], ...others] = Object.entries(
      content?.['application/json']?.examples ?? {},
    );
    expect(others).toEqual([]);
    return { ...(value as { error: { code: number; status: string } }).error, reason };
  }

  it('are exactly those that REST clients can see', () => {
    const reasons = new Set([
      ...Object.keys(FAILURES),
      ...Object.keys(failures),
      'OVERLOADED',
      'UPSTREAM_UNAVAILABLE',
    ]);
    // Returned only over gRPC, by health checks, reflection and guard-only calls, or for streams of requests.
    for (const reason of ['SERVICE_UNKNOWN', 'UNSUPPORTED', 'GUARD_PASSED', 'REQUEST_STREAM_UNSUPPORTED'])
      reasons.delete(reason);
    expect(documented.reason.enum).toEqual([...reasons].sort());
  });

  it('appear in the response with the status that docs/errors.md gives them', () => {
    const table = readFileSync(resolve(import.meta.dirname, '../../docs/errors.md'), 'utf8');
    const rows = [...table.matchAll(/^\| `([A-Z_]+)` \| \w+ \| (\d+) \|/gm)];
    const { ErrorOfTransport: ofTransport, ...others } = components.responses;
    const named = Object.values(others).flatMap((response) =>
      [...response.description.matchAll(/`([A-Z_]+)`/g)].map(
        ([, reason]) => `${reason} ${errorIn(response).code}`,
      ),
    );
    const each = String(ofTransport?.description).matchAll(/(\d+) `([A-Z_]+)`/g);
    named.push(...[...each].map(([, code, reason]) => `${reason} ${code}`));
    expect(named.sort()).toEqual(rows.map(([, reason, code]) => `${reason} ${code}`).sort());
  });

  it('have examples with the status of the response and the gRPC code of the reason', () => {
    const codes: Record<string, number> = {
      ...Object.fromEntries(
        Object.entries({ ...FAILURES, ...failures }).map(([reason, { code }]) => [reason, code]),
      ),
    };
    const references = operations
      .flatMap(({ operation }) => Object.entries(operation.responses))
      .filter(([code, response]) => code !== 'default' && '$ref' in response);
    for (const [code, response] of references) {
      const error = errorIn(resolved(response));
      expect(error).toMatchObject({ code: Number(code), status: status[codes[error.reason] ?? 0] });
    }
  });
});
