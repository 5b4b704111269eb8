import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import jwt from 'jsonwebtoken';
import { describe, expect, it } from 'vitest';
import { failures } from '@route-registry/transcoder';
import type { Operation } from '@route-registry/transcoder/openapi';
import { MessageCache } from '../../src/calls/message-cache.js';
import { RouteServiceDefinition } from '../../src/gen/routing/v1/route_service.js';
import { FAILURES } from '../../src/calls/failures.js';
import { DEFAULT_SCOPES, routeService } from '../../src/grpc/route-service.js';
import { Registry } from '../../src/registry/registry.js';
import type { RouteStore } from '../../src/registry/route-store.js';
import { buildFolder } from '../support/build-folder.js';
import { openApi } from '../support/openapi.js';
import { patterns, valuesOf, verdicts } from './patterns.js';

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

describe('the OpenAPI document', () => {
  it('uses no terms of gRPC or protobuf', () => {
    const texts = valuesOf(document, 'description', 'summary', 'title', 'message');
    const foreign =
      /\bmetadata\b|\bAIP\b|\bg?RPC\b|\bproto(?:buf)?\b|\btrailers?\b|\bmessages?\b|\b[a-z]+_(?:at|id|only)\b/i;
    expect(texts.length).toBeGreaterThan(60);
    // Field violations and error metadata use such names over REST as well.
    const allowed = /`route_id`/g;
    expect(texts.filter((text) => foreign.test(text.replace(allowed, '')))).toEqual([]);
  });

  it('names the key of error metadata as it is sent', () => {
    const reused = valuesOf(document, 'description').filter((text) =>
      text.includes('REQUEST_ID_REUSED`; its'),
    );
    expect(reused.length).toBeGreaterThan(0);
    expect(reused.filter((text) => !text.includes('`route_id` is that of the first route'))).toEqual([]);
  });

  it('has an operation for each method of the contract, and the health check', () => {
    expect(operations.map(({ path, verb, operation }) => [verb, path, operation.operationId])).toEqual(
      expect.arrayContaining([
        ['post', '/v1/routing', 'createRoute'],
        ['get', '/v1/routing/{route_id}', 'getRoute'],
        ['get', '/healthz', 'checkHealth'],
      ]),
    );
    expect(new Set(operations.map(({ operation }) => operation.operationId))).toEqual(
      new Set([...Object.keys(RouteServiceDefinition.methods), 'checkHealth']),
    );
  });

  it('names the place that it is at as the server, under any base path and prefix of a proxy', () => {
    expect(document.servers.map(({ url }) => url)).toEqual(['.']);
  });
});

describe('the description of the bearer token', () => {
  const description = document.components.securitySchemes['bearer']?.['description'] as string;

  it('has a token command that works as printed', () => {
    const [, options = ''] = /`npm run --silent token -- ([^`]+)`/.exec(description) ?? [];
    const args = (options.match(/"[^"]*"|\S+/g) ?? []).map((arg) => arg.replaceAll('"', ''));
    const env = { JWT_SECRET: 's'.repeat(32), JWT_ISSUER: 'i', JWT_AUDIENCE: 'a' };
    const token = execFileSync(process.execPath, [join(buildFolder(), 'token.js'), ...args], {
      env,
      stdio: 'pipe',
    });
    expect(jwt.decode(String(token).trim())).toMatchObject({ scope: 'routes:read routes:write', sub: 'me' });
  });
});

describe('the operations', () => {
  const registry = new Registry({
    store: {} as RouteStore,
    now: () => 0,
    newId: () => '',
  });

  it.each([
    ['createRoute', [200, 201, 400, 401, 403, 409, 412, 413, 415, 429, 503]],
    ['getRoute', [200, 304, 400, 401, 403, 404, 412, 429, 503]],
    ['checkHealth', [200, 429, 503]],
  ])(
    '%s lists its successes and what a caller can do something about, all other failures as one',
    (operationId, statuses) => {
      expect(Object.keys(operationOf(operationId).responses)).toEqual([...statuses.map(String), 'default']);
    },
  );

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

describe('the documented failure reasons', () => {
  const documented = components.schemas['ErrorInfo']?.['properties'] as { reason: { enum: string[] } };

  it('are exactly those that REST clients can see', () => {
    const reasons = new Set([
      ...Object.keys(FAILURES),
      ...Object.keys(failures),
      'OVERLOADED',
      'UPSTREAM_UNAVAILABLE',
    ]);
    // Returned only over gRPC, by health checks, reflection and auth-only calls, or for streams of requests.
    for (const reason of ['SERVICE_UNKNOWN', 'UNSUPPORTED', 'GUARD_PASSED', 'REQUEST_STREAM_UNSUPPORTED'])
      reasons.delete(reason);
    expect(documented.reason.enum).toEqual([...reasons].sort());
  });

  it('appear in the response with the status that docs/errors.md gives them', () => {
    const table = readFileSync(resolve(import.meta.dirname, '../../docs/errors.md'), 'utf8');
    const described = Object.entries(components.responses).filter(([name]) => name !== 'Error');
    const statuses = described.map(([name]) => name.replace('Error', ''));
    const rows = [...table.matchAll(/^\| `([A-Z_]+)` \| \w+ \| (\d+) \|/gm)]
      // Of no operation.
      .filter(([, reason, status = '']) => statuses.includes(status) && reason !== 'PATH_UNKNOWN');
    const named = described.flatMap(([name, { description }]) =>
      [...description.matchAll(/`([A-Z_]+)`/g)].map(([, reason]) => `${reason} ${name.replace('Error', '')}`),
    );
    expect(named.sort()).toEqual(rows.map(([, reason, status]) => `${reason} ${status}`).sort());
  });
});

describe('the examples', () => {
  it('have an id that holds the time of their creation', () => {
    const [{ id, createdAt } = { id: '', createdAt: '' }] = components.schemas['Route']?.['examples'] as {
      id: string;
      createdAt: string;
    }[];
    expect(new Date(parseInt(id.replace('-', '').slice(0, 12), 16)).toISOString()).toBe(createdAt);
    const readme = readFileSync(resolve(import.meta.dirname, '../../README.md'), 'utf8');
    expect(readme).toContain(`"id":"${id}"`);
    expect(readme).toContain(`"createdAt":"${createdAt}"`);
  });
});

describe('the patterns of the OpenAPI document', () => {
  it('match the same strings in JavaScript with and without the u flag', () => {
    expect(patterns.length).toBeGreaterThan(5);
    expect(patterns.filter((pattern) => pattern.includes('\\/'))).toEqual([]);
    expect(verdicts('')).toEqual(verdicts('u'));
    const kinds = verdicts('u').map((verdict) => new Set(verdict).size);
    expect(Math.min(...kinds), 'each pattern matches some samples and not others').toBe(2);
  });
});
