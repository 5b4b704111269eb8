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

/** The modules and packages that each module may import. Every module may import Node's built-in modules. */
const ALLOWED: Readonly<
  Record<string, { readonly modules: readonly string[]; readonly packages: readonly string[] }>
> = {
  registry: { modules: [], packages: ['uuid'] },
  store: { modules: ['registry', 'settings'], packages: ['knex', 'lru-cache', 'mysql2'] },
  auth: { modules: [], packages: ['jsonwebtoken', 'lru-cache'] },
  calls: {
    modules: ['registry', 'auth', 'settings', 'gen'],
    packages: ['@bufbuild/protobuf', '@grpc/grpc-js', 'lru-cache', 'pino'],
  },
  files: { modules: ['settings'], packages: [] },
  grpc: {
    modules: ['calls', 'registry', 'gen', 'settings'],
    packages: ['@bufbuild/protobuf', '@grpc/grpc-js', '@grpc/proto-loader', 'grpc-js-health-check', 'pino'],
  },
  gateway: {
    modules: ['calls', 'files', 'gen', 'settings'],
    packages: ['@route-registry/transcoder', '@grpc/grpc-js', 'cors', 'express'],
  },
  openapi: {
    modules: ['calls', 'registry', 'grpc', 'gateway', 'gen'],
    packages: ['@route-registry/transcoder'],
  },
  observability: { modules: ['calls', 'store'], packages: ['@route-registry/transcoder', 'prom-client'] },
  'observability/tracing': {
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
  lifecycle: { modules: ['auth', 'files', 'settings'], packages: ['pino'] },
  settings: { modules: ['auth'], packages: [] },
  gen: { modules: [], packages: ['@bufbuild/protobuf', '@grpc/grpc-js'] },
};

/** Pairs of modules where one may import only types of the other. */
const TYPES_ONLY: readonly (readonly [from: string, to: string])[] = [
  ['calls', 'auth'],
  ['calls', 'settings'],
  ['files', 'settings'],
  ['gateway', 'settings'],
  ['grpc', 'settings'],
  ['settings', 'auth'],
  ['store', 'settings'],
  ['observability', 'store'],
  ['observability/tracing', 'store'],
];

const files = sourceFiles(SRC);
const imports = files.flatMap(importsOf);

/** The folder whose files, with those directly in `src`, make up the process: the module '', which may import all. */
const PROCESS = 'run';
/** A module within another: it is loaded only where spans are sent. */
const TRACING = 'observability/tracing';

function moduleOf(file: string): string {
  const path = relative(SRC, file);
  if (path.startsWith(`${TRACING}/`)) return TRACING;
  const [first = '', ...rest] = path.split('/');
  return rest.length === 0 || first === PROCESS ? '' : first;
}

function show(imported: Import): string {
  return shown(imported, SRC);
}

const ours = imports.filter(isOurs);

describe('the modules', () => {
  it('are those with an entry here', () => {
    const modules = new Set(files.map(moduleOf));
    modules.delete('');
    expect([...modules].sort()).toEqual(Object.keys(ALLOWED).sort());
  });

  it.each(Object.entries(ALLOWED))('%s imports only modules that it may import', (module, { modules }) => {
    const open = new Set([module, ...modules]);
    const wrong = ours.filter(({ from, to }) => moduleOf(from) === module && !open.has(moduleOf(to)));
    expect(wrong.map(show)).toEqual([]);
  });

  it.each(Object.entries(ALLOWED))('%s imports only packages that it may import', (module, allowed) => {
    const open = new Set([undefined, ...allowed.packages]);
    const wrong = imports.filter(
      (imported) => moduleOf(imported.from) === module && !open.has(packageOf(imported)),
    );
    expect(wrong.map(show)).toEqual([]);
  });

  it.each(TYPES_ONLY)('%s imports only types of %s', (module, other) => {
    const wrong = ours.filter(
      ({ from, to, typeOnly }) => moduleOf(from) === module && moduleOf(to) === other && !typeOnly,
    );
    expect(wrong.map(show)).toEqual([]);
  });

  it('other than tracing import only its types, so that its code is loaded only where spans are sent', () => {
    const wrong = ours.filter(
      ({ from, to, typeOnly }) => moduleOf(from) !== TRACING && moduleOf(to) === TRACING && !typeOnly,
    );
    expect(wrong.map(show)).toEqual([]);
  });
});

describe('the files', () => {
  it('import each other without cycles', () => {
    expect(cyclesAmong(imports, SRC)).toEqual([]);
  });

  it('of migrations import only Knex, what tells the engine, and each other', () => {
    const folder = join(SRC, 'store/migrations/');
    const allowed = new Set(['knex', join(SRC, 'store/database.ts')]);
    const wrong = imports.filter(
      ({ from, to }) =>
        from.startsWith(folder) && !to.startsWith(folder) && !allowed.has(to) && !to.startsWith('node:'),
    );
    expect(wrong.map(show)).toEqual([]);
  });

  it('have no vague name such as utils or helpers', () => {
    const vague = files.filter((file) => /(^|\/)(utils?|helpers?|common|types|index|misc)\.ts$/.test(file));
    expect(vague).toEqual([]);
  });

  it('of the gateway do not mention the routes of the registry', () => {
    const gateway = files.filter((file) => moduleOf(file) === 'gateway');
    const words = /routing\.v1|RouteService|route_id|routeId|\bRoute\b|routes:(read|write)/;
    expect(gateway.filter((file) => words.test(readFileSync(file, 'utf8')))).toEqual([]);
  });
});
