import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const SRC = resolve(import.meta.dirname, '../src');

/** What each room may import: rooms of ours, and packages. Node's own modules are open to all. */
const ALLOWED: Readonly<
  Record<string, { readonly rooms: readonly string[]; readonly packages: readonly string[] }>
> = {
  registry: { rooms: [], packages: [] },
  store: { rooms: ['registry'], packages: ['knex', 'dataloader', 'lru-cache'] },
  auth: { rooms: [], packages: ['jsonwebtoken', 'jose', 'lru-cache'] },
  grpc: {
    rooms: ['registry', 'auth', 'runtime', 'gen'],
    packages: [
      '@bufbuild/protobuf',
      '@grpc/grpc-js',
      '@grpc/proto-loader',
      '@grpc/reflection',
      'grpc-js-health-check',
      'pino',
    ],
  },
  gateway: {
    rooms: ['runtime', 'gen'],
    packages: ['@bufbuild/protobuf', '@grpc/grpc-js', 'express'],
  },
  runtime: { rooms: [], packages: [] },
  openapi: {
    rooms: ['registry', 'auth', 'store', 'grpc', 'gateway', 'gen'],
    packages: ['@bufbuild/protobuf', '@grpc/grpc-js'],
  },
  gen: { rooms: [], packages: ['@bufbuild/protobuf', '@grpc/grpc-js'] },
};

/** Rooms of which another may know the types only. */
const TYPES_ONLY: readonly (readonly [from: string, to: string])[] = [['grpc', 'auth']];

interface Import {
  readonly from: string;
  readonly to: string;
  readonly typeOnly: boolean;
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => join(SRC, name));

const imports: readonly Import[] = files.flatMap((file) => {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
  return source.statements.filter(isImportOrExport).flatMap((statement) => {
    const { moduleSpecifier } = statement;
    if (moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier)) return [];
    const to = moduleSpecifier.text.startsWith('.')
      ? resolve(dirname(file), moduleSpecifier.text.replace(/\.js$/, '.ts'))
      : moduleSpecifier.text;
    const typeOnly =
      ts.isImportDeclaration(statement) &&
      statement.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
    return [{ from: file, to, typeOnly }];
  });
});

function isImportOrExport(statement: ts.Statement): statement is ts.ImportDeclaration | ts.ExportDeclaration {
  return ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement);
}

/** The room of a file of ours; the files directly in `src` are in the room ''. */
function roomOf(file: string): string {
  const [first = '', ...rest] = relative(SRC, file).split('/');
  return rest.length === 0 ? '' : first;
}

function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

function show({ from, to }: Import): string {
  return `${relative(SRC, from)} → ${to.startsWith('/') ? relative(SRC, to) : to}`;
}

const ours = imports.filter(({ to }) => to.startsWith('/'));
const packages = imports.filter(({ to }) => !to.startsWith('/') && !to.startsWith('node:'));

describe('the rooms', () => {
  it('are those that have an entry here', () => {
    const rooms = new Set(files.map(roomOf));
    rooms.delete('');
    expect([...rooms].sort()).toEqual(Object.keys(ALLOWED).sort());
  });

  it.each(Object.entries(ALLOWED))('%s imports no other room than it may', (room, { rooms }) => {
    const open = new Set([room, ...rooms]);
    const wrong = ours.filter(({ from, to }) => roomOf(from) === room && !open.has(roomOf(to)));
    expect(wrong.map(show)).toEqual([]);
  });

  it.each(Object.entries(ALLOWED))('%s imports no other package than it may', (room, allowed) => {
    const wrong = packages.filter(
      ({ from, to }) => roomOf(from) === room && !allowed.packages.includes(packageOf(to)),
    );
    expect(wrong.map(show)).toEqual([]);
  });

  it.each(TYPES_ONLY)('%s imports only types of %s', (room, other) => {
    const wrong = ours.filter(
      ({ from, to, typeOnly }) => roomOf(from) === room && roomOf(to) === other && !typeOnly,
    );
    expect(wrong.map(show)).toEqual([]);
  });

  it('that make the OpenAPI document are out of reach for the service, which serves it as generated', () => {
    const reached = new Set<string>();
    const visit = (file: string): void => {
      if (reached.has(file)) return;
      reached.add(file);
      for (const { to } of ours.filter(({ from, typeOnly }) => from === file && !typeOnly)) visit(to);
    };
    files.filter((file) => roomOf(file) !== 'openapi').forEach(visit);
    const served = [...reached].filter((file) => roomOf(file) === 'openapi');
    expect(served.map((file) => relative(SRC, file)).sort()).toEqual([
      'openapi/documents.ts',
      'openapi/try-out-pages.ts',
    ]);
  });

  it('are not imported by the settings', () => {
    const wrong = ours.filter(({ from, to }) => /\/(config|settings)\.ts$/.test(from) && roomOf(to) !== '');
    expect(wrong.map(show)).toEqual([]);
  });
});

describe('the files', () => {
  it('import each other without a cycle', () => {
    const graph = new Map<string, string[]>();
    for (const { from, to } of ours) graph.set(from, [...(graph.get(from) ?? []), to]);
    const done = new Set<string>();
    const cycles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (path.includes(file))
        cycles.push([...path.slice(path.indexOf(file)), file].map((each) => relative(SRC, each)).join(' → '));
      else if (!done.has(file)) for (const next of graph.get(file) ?? []) visit(next, [...path, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
    expect(cycles).toEqual([]);
  });

  it('of migrations import Knex and each other, nothing that goes on changing', () => {
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
    const gateway = files.filter((file) => roomOf(file) === 'gateway');
    const words = /routing\.v1|RouteService|route_id|routeId|\bRoute\b|routes:(read|write)/;
    expect(gateway.filter((file) => words.test(readFileSync(file, 'utf8')))).toEqual([]);
  });
});
