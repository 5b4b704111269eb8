import { readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  cyclesAmong,
  type Import,
  importsOf,
  isOurs,
  packageOf,
  shown,
  sourceFiles,
} from '../packages/transcoder/test/support/source-imports.js';

const SRC = resolve(import.meta.dirname, '../src');

/** The imports allowed to each module: other modules, and packages. Node's own modules are open to all. */
const ALLOWED: Readonly<
  Record<string, { readonly modules: readonly string[]; readonly packages: readonly string[] }>
> = {
  registry: { modules: [], packages: ['uuid'] },
  store: { modules: ['registry', 'settings'], packages: ['knex', 'dataloader', 'lru-cache'] },
  auth: { modules: [], packages: ['jsonwebtoken', 'lru-cache'] },
  calls: {
    modules: ['registry', 'auth', 'gen'],
    packages: ['@bufbuild/protobuf', '@grpc/grpc-js', 'lru-cache', 'pino'],
  },
  routes: { modules: ['calls', 'registry', 'gen'], packages: [] },
  files: { modules: [], packages: [] },
  edge: { modules: ['files', 'settings'], packages: [] },
  grpc: {
    modules: ['calls', 'edge', 'gen'],
    packages: ['@bufbuild/protobuf', '@grpc/grpc-js', '@grpc/proto-loader', 'grpc-js-health-check', 'pino'],
  },
  gateway: {
    modules: ['calls', 'gen'],
    packages: ['@route-registry/transcoder', '@grpc/grpc-js', 'cors', 'express'],
  },
  openapi: {
    modules: ['registry', 'routes', 'gateway', 'gen'],
    packages: ['@route-registry/transcoder'],
  },
  watch: { modules: ['calls', 'store'], packages: ['@route-registry/transcoder', 'prom-client'] },
  'watch/tracing': {
    modules: ['calls', 'store'],
    packages: [
      '@grpc/grpc-js',
      '@opentelemetry/api',
      '@opentelemetry/core',
      '@opentelemetry/exporter-trace-otlp-proto',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace-base',
      '@route-registry/transcoder',
      'pino',
    ],
  },
  settings: { modules: [], packages: [] },
  gen: { modules: [], packages: ['@bufbuild/protobuf', '@grpc/grpc-js'] },
};

/** Modules from which another may import only types. */
const TYPES_ONLY: readonly (readonly [from: string, to: string])[] = [
  ['calls', 'auth'],
  ['edge', 'settings'],
  ['store', 'settings'],
  ['watch', 'store'],
  ['watch/tracing', 'store'],
];

const files = sourceFiles(SRC);
const imports = files.flatMap(importsOf);

/** The folders whose files belong to the process that they make up: with those directly in `src`, the module '', which imports all. */
const PROCESS = 'run';
/** A module within another: nothing but what is loaded where spans are sent. */
const TRACING = 'watch/tracing';

function moduleOf(file: string): string {
  const path = relative(SRC, file);
  if (path.startsWith(`${TRACING}/`)) return TRACING;
  const [first = '', ...rest] = path.split('/');
  return rest.length === 0 || first === PROCESS ? '' : first;
}

function show(each: Import): string {
  return shown(each, SRC);
}

const ours = imports.filter(isOurs);

describe('the modules', () => {
  it('are those that have an entry here', () => {
    const modules = new Set(files.map(moduleOf));
    modules.delete('');
    expect([...modules].sort()).toEqual(Object.keys(ALLOWED).sort());
  });

  it.each(Object.entries(ALLOWED))('%s imports no other module than it may', (module, { modules }) => {
    const open = new Set([module, ...modules]);
    const wrong = ours.filter(({ from, to }) => moduleOf(from) === module && !open.has(moduleOf(to)));
    expect(wrong.map(show)).toEqual([]);
  });

  it.each(Object.entries(ALLOWED))('%s imports no other package than it may', (module, allowed) => {
    const open = new Set([undefined, ...allowed.packages]);
    const wrong = imports.filter((each) => moduleOf(each.from) === module && !open.has(packageOf(each)));
    expect(wrong.map(show)).toEqual([]);
  });

  it.each(TYPES_ONLY)('%s imports only types of %s', (module, other) => {
    const wrong = ours.filter(
      ({ from, to, typeOnly }) => moduleOf(from) === module && moduleOf(to) === other && !typeOnly,
    );
    expect(wrong.map(show)).toEqual([]);
  });

  it('except tracing know only its types: its code is loaded where spans are sent, and nowhere else', () => {
    const wrong = ours.filter(
      ({ from, to, typeOnly }) => moduleOf(from) !== TRACING && moduleOf(to) === TRACING && !typeOnly,
    );
    expect(wrong.map(show)).toEqual([]);
  });

  it('that generate the OpenAPI document are not imported by the service', () => {
    const reached = new Set<string>();
    const visit = (file: string): void => {
      if (reached.has(file)) return;
      reached.add(file);
      for (const { to } of ours.filter(({ from, typeOnly }) => from === file && !typeOnly)) visit(to);
    };
    files.filter((file) => moduleOf(file) !== 'openapi').forEach(visit);
    const served = [...reached].filter((file) => moduleOf(file) === 'openapi');
    expect(served.map((file) => relative(SRC, file)).sort()).toEqual([
      'openapi/documents.ts',
      'openapi/gen/openapi.ts',
    ]);
  });
});

describe('the files', () => {
  it('import each other without cycles', () => {
    expect(cyclesAmong(imports, SRC)).toEqual([]);
  });

  it('of migrations import only Knex and each other', () => {
    const folder = join(SRC, 'store/migrations/');
    const wrong = imports.filter(
      ({ from, to }) =>
        from.startsWith(folder) && !to.startsWith(folder) && to !== 'knex' && !to.startsWith('node:'),
    );
    expect(wrong.map(show)).toEqual([]);
  });

  it('are named after the one thing in them', () => {
    const vague = files.filter((file) => /(^|\/)(utils?|helpers?|common|types|index|misc)\.ts$/.test(file));
    expect(vague).toEqual([]);
  });

  it('of the gateway have no word about a route of the registry', () => {
    const gateway = files.filter((file) => moduleOf(file) === 'gateway');
    const words = /routing\.v1|RouteService|route_id|routeId|\bRoute\b|routes:(read|write)/;
    expect(gateway.filter((file) => words.test(readFileSync(file, 'utf8')))).toEqual([]);
  });
});
