import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { build, type Format } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { certificates } from '../../client/test/support/certificates.js';
import { listen } from './support/grpc-server.js';
import { errorOf, httpRequest, reasonOf, type HttpRequest } from './support/http-request.js';
import { libraryDescriptorSet } from './support/library-contract.js';
import { libraryOverGrpc, MEMBER } from './support/library-server.js';
import { opening } from './support/opening.js';
import { installPacked, linksOutside, type PackedPackage } from './support/packed-package.js';
import { startReflecting } from './support/reflecting-server.js';

const PACKAGE = resolve(import.meta.dirname, '..');

/** Building, packing and compiling are slow while other tests run. */
const PACKING_MS = 300_000;

/** A program that uses every entry of the package and serves in three ways. Prints their ports. */
const SERVE = `
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { credentials } from '@grpc/grpc-js';
import { createTranscoder } from '@route-registry/transcoder';
import { grpcUpstream } from '@route-registry/transcoder/grpc-js';
import express from 'express';

export * from '@route-registry/transcoder/openapi';
export * from '@route-registry/transcoder/page';
export * from '@route-registry/transcoder/reflection';

const upstream = grpcUpstream(process.argv[2] ?? '', { credentials: credentials.createInsecure() });
const descriptorSet = readFileSync('library.binpb');
const { handler, onClientError } = createTranscoder({ descriptorSet, upstream });
const servers = [
  createServer(handler),
  createServer(express().use(handler).use(express.json())),
  createSecureServer({ cert: readFileSync('cert.pem'), key: readFileSync('key.pem') }, handler),
];
for (const server of servers) server.on('clientError', onClientError).listen(0, '127.0.0.1');
await Promise.all(servers.map((server) => new Promise((resolve) => server.on('listening', resolve))));
console.log(servers.map((server) => (server.address() as AddressInfo).port).join());
`;

/** The README's example, started for a gRPC server that is not needed here. Prints its port. */
const PAGE = `${readFileSync(join(PACKAGE, 'examples/serve-with-page.ts'), 'utf8')}
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';

const server = serveWithPage(readFileSync('library.binpb'), '127.0.0.1:1').listen(0, '127.0.0.1');
server.on('listening', () => console.log((server.address() as AddressInfo).port));
`;

/** With the other entries of the package, and a handler for Fastify. */
const ENTRIES = `${PAGE}
import fastify from 'fastify';
import { reflect } from '@route-registry/transcoder/reflection';

export const contractOf = async (target: string): Promise<Uint8Array> =>
  (await reflect(target, { credentials: credentials.createInsecure() })).descriptorSet;
export const hooked = (transcoder: ReturnType<typeof createTranscoder>) =>
  fastify().addHook('onRequest', (request, reply, done) => {
    transcoder.handler(request.raw, reply.raw, done);
  });
`;

/** The path of a call that never ends. */
const HANG = '/v1/hang';
const ESM = '{"type":"module"}';
const stdio: ['ignore', 'pipe', 'inherit'] = ['ignore', 'pipe', 'inherit'];

describe('the packed package', () => {
  let user: PackedPackage;

  beforeAll(async () => {
    const modules = ['@bufbuild', '@grpc/grpc-js', 'express', 'fastify', 'lru-cache', 'swagger-ui-dist'];
    const types = ['@types/node', '@types/express', 'undici-types'];
    user = await installPacked(PACKAGE, [...modules, ...types]);
    write('library.binpb', libraryDescriptorSet);
    write('cert.pem', certificates.server.cert);
    write('key.pem', certificates.server.key);
    write('package.json', ESM);
    await user.compile(write('serve.ts', SERVE));
    // Makes the program executable and links it, as an installation does.
    await user.run('npm', ['rebuild', '--ignore-scripts', '@route-registry/transcoder']);
  }, PACKING_MS);

  afterAll(() => user.remove());

  function write(name: string, content: string | Uint8Array): string {
    writeFileSync(join(user.folder, name), content);
    return name;
  }

  /** Starts a program of the user. Returns the first line that it prints. */
  async function start(...args: readonly string[]): Promise<string> {
    const child = spawn('node', args, { cwd: user.folder, stdio });
    onTestFinished(() => void child.kill());
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    return line;
  }

  it('contains what it needs and nothing else', () => {
    const files = ['CHANGELOG.md', 'README.md', 'dist', 'docs', 'package.json'];
    expect(readdirSync(user.installed).sort()).toEqual(files);
    const built = readdirSync(join(user.installed, 'dist'), { recursive: true }).map(String);
    expect(built.filter((name) => name.endsWith('.map') || name.endsWith('.tsbuildinfo'))).toEqual([]);
  });

  it(
    'has names for its types in a project that cannot import what it depends on, as with pnpm',
    async () => {
      const project = mkdtempSync(join(tmpdir(), 'pnpm-'));
      onTestFinished(() => {
        rmSync(project, { recursive: true });
      });
      const modules = join(project, 'node_modules/@route-registry');
      mkdirSync(modules, { recursive: true });
      symlinkSync(user.installed, join(modules, 'transcoder'));
      const program = `import { unboundRules } from '@route-registry/transcoder';
export const rulesOf = (set: Uint8Array) => unboundRules(set);\n`;
      writeFileSync(join(project, 'rules.ts'), program);
      writeFileSync(join(project, 'package.json'), ESM);
      await user.compile(join(project, 'rules.ts'), '--declaration');
      expect(readFileSync(join(project, 'rules.d.ts'), 'utf8')).toContain('UnboundRule[]');
    },
    PACKING_MS,
  );

  it(
    'has types for every way to resolve it',
    async () => {
      expect(await user.typeProblems()).toBe('');
    },
    PACKING_MS,
  );

  it('exports its package.json', async () => {
    const program = `console.log(require('@route-registry/transcoder/package.json').name)`;
    expect(await user.run('node', ['--eval', program])).toBe('@route-registry/transcoder\n');
  });

  const pages = readdirSync(join(PACKAGE, 'docs')).map((name) => `docs/${name}`);

  it.each(['README.md', 'CHANGELOG.md', ...pages])(
    'has no link in %s to a file outside the package',
    (name) => {
      expect(linksOutside(user.installed, name)).toEqual([]);
    },
  );

  it("serves a contract and the server's failures with node:http, Express 5 and TLS", async () => {
    write('package.json', ESM);
    const methods = ['/library.v1.Library/GetShelf', '/library.v1.Probe/Hang'];
    const server = opening(await listen({ unary: libraryOverGrpc() }, methods));
    const [plain, express, secure] = (await start('serve.js', server.address)).split(',');
    const get = (path: string): HttpRequest => ({
      path,
      headers: { authorization: MEMBER, ...(path === HANG && { 'request-timeout': '0.5' }) },
    });
    const ways = [
      (path: string) => httpRequest(`http://127.0.0.1:${plain}`, get(path)),
      (path: string) => httpRequest(`http://127.0.0.1:${express}`, get(path)),
      (path: string) => httpRequest(`https://127.0.0.1:${secure}`, get(path), certificates.ca.cert),
    ];
    for (const send of ways) {
      expect(JSON.parse((await send('/v1/shelves/7')).text)).toMatchObject({ id: '7' });
      const late = await send(HANG);
      expect(errorOf(late)).toMatchObject({ code: 504, status: 'DEADLINE_EXCEEDED' });
      expect(late.text).not.toContain('127.0.0.1');
    }
    server.close();
    for (const send of ways) {
      await expect.poll(async () => (await send('/v1/shelves/7')).status).toBe(503);
      const response = await send('/v1/shelves/7');
      expect(reasonOf(response)).toBe('UPSTREAM_UNAVAILABLE');
      expect(response.text).not.toMatch(/ECONNREFUSED|127\.0\.0\.1/);
    }
  });

  /** Runs a program of the user, which prints its port, and expects the page from it. */
  async function expectPage(file: string): Promise<void> {
    const port = await start(file);
    for (const path of ['/docs', '/docs/swagger-ui.js', '/openapi.json'])
      expect((await httpRequest(`http://127.0.0.1:${port}`, { path })).status).toBe(200);
  }

  it.each<[Format, string]>([
    ['esm', 'bundle.mjs'],
    ['cjs', 'bundle.cjs'],
  ])('serves the page from a bundle of esbuild that leaves packages out, as %s', async (format, outfile) => {
    const entryPoints = [write('bundled.ts', PAGE)];
    const bundling = { bundle: true, platform: 'node', packages: 'external' } as const;
    const absWorkingDir = user.folder;
    const { warnings } = await build({ ...bundling, absWorkingDir, entryPoints, format, outfile });
    expect(warnings).toEqual([]);
    await expectPage(outfile);
  });

  it.each([
    ['module: node16', ['--module', 'node16']],
    [
      'moduleResolution: node10',
      ['--module', 'commonjs', '--moduleResolution', 'node10', '--ignoreDeprecations', '6.0'],
    ],
  ])(
    'compiles to CommonJS with %s, and runs',
    async (_, resolution) => {
      write('package.json', '{"type":"commonjs"}');
      const strict = ['--target', 'es2023', '--types', 'node', '--strict', '--esModuleInterop'];
      // Fastify's own declarations do not compile without `skipLibCheck`.
      await user.run('tsc', [...resolution, ...strict, '--skipLibCheck', write('required.ts', ENTRIES)]);
      expect(readFileSync(join(user.folder, 'required.js'), 'utf8')).toContain(
        'require("@route-registry/transcoder/page")',
      );
      await expectPage('required.js');
    },
    PACKING_MS,
  );

  it('is the same for import and require in one process', async () => {
    write('package.json', ESM);
    const program = `
      import { createRequire } from 'node:module';
      import { Failure } from '@route-registry/transcoder';
      const required = createRequire(import.meta.url)('@route-registry/transcoder');
      console.log(new required.Failure('PATH_UNKNOWN', '') instanceof Failure);`;
    expect(await user.run('node', [write('both.js', program)])).toBe('true\n');
  });

  it(
    'is loaded by Jest, and serves',
    async () => {
      write('package.json', '{"type":"commonjs"}');
      await user.jest(`
        const { createServer } = require('node:http');
        const { credentials } = require('@grpc/grpc-js');
        const { createTranscoder } = require('@route-registry/transcoder');
        const { grpcUpstream } = require('@route-registry/transcoder/grpc-js');
        for (const entry of ['openapi', 'reflection']) require('@route-registry/transcoder/' + entry);

        test('it serves', async () => {
          const descriptorSet = require('node:fs').readFileSync('library.binpb');
          const upstream = grpcUpstream('127.0.0.1:1', { credentials: credentials.createInsecure() });
          const { handler } = createTranscoder({ descriptorSet, upstream });
          const server = createServer(handler).listen(0, '127.0.0.1');
          await new Promise((resolve) => server.on('listening', resolve));
          const response = await fetch('http://127.0.0.1:' + server.address().port + '/nowhere');
          expect(response.status).toBe(404);
          server.close();
          upstream.close();
        });`);
    },
    PACKING_MS,
  );

  it(
    "serves in Jest's environment jsdom, whose Buffers are of another realm than its Uint8Array",
    async () => {
      write('package.json', '{"type":"commonjs"}');
      const test = `
        const { once } = require('node:events');
        const { createServer, get } = require('node:http');
        const { text } = require('node:stream/consumers');
        const { TextDecoder, TextEncoder } = require('node:util');
        // jsdom has none.
        Object.assign(globalThis, { TextDecoder, TextEncoder });
        const { createTranscoder } = require('@route-registry/transcoder');

        test('it serves', async () => {
          const descriptorSet = require('node:fs').readFileSync('library.binpb');
          const message = Buffer.from([10, 1, 55]);
          const unary = () => ({ code: 0, details: '', answered: true, message });
          const { handler } = createTranscoder({ descriptorSet, upstream: { unary } });
          const server = createServer(handler).listen(0, '127.0.0.1');
          await once(server, 'listening');
          const [response] = await once(get({ port: server.address().port, path: '/v1/shelves/7' }), 'response');
          expect(await text(response)).toContain('"id":"7"');
          server.close();
        });`;
      await user.jest(test, 'jsdom');
    },
    PACKING_MS,
  );

  /** Starts the installed command. @returns it and its origin, once it serves */
  async function startServing() {
    const { address } = opening(await startReflecting());
    const command = join(user.folder, 'node_modules/.bin/transcoder');
    const child = spawn(command, ['--target', address, '--port', '0'], { stdio });
    onTestFinished(() => void child.kill());
    const lines: string[] = [];
    createInterface(child.stdout).on('line', (line) => lines.push(line));
    await expect.poll(() => lines.at(-1)).toContain(`${address} is served at `);
    return { child, origin: String(/http:\S+(?=,)/.exec(String(lines.at(-1)))?.[0]) };
  }

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'has a command that serves, and ends with 0 at %s',
    async (signal) => {
      const { child, origin } = await startServing();
      const closed = once(child, 'close');
      expect((await httpRequest(origin, { path: '/v1/greetings/Ada' })).text).toBe('{"text":"Greet Ada"}');
      expect((await httpRequest(origin, { path: '/docs/swagger-ui.css' })).text).toContain('.swagger-ui');
      child.kill(signal);
      expect(await closed).toEqual([0, null]);
    },
  );

  it('has a command that goes on serving when nobody reads its output any longer', async () => {
    const { child, origin } = await startServing();
    child.stdout.destroy();
    for (const name of ['Ada', 'Grace', 'Mary'])
      expect((await httpRequest(origin, { path: `/v1/greetings/${name}` })).status).toBe(200);
  });

  it('has a command that says which package it lacks', async () => {
    const peer = join(user.folder, 'node_modules/@grpc/grpc-js');
    renameSync(peer, `${peer}-away`);
    onTestFinished(() => {
      renameSync(`${peer}-away`, peer);
    });
    const command = join(user.folder, 'node_modules/.bin/transcoder');
    const child = spawn(command, ['--help'], { stdio: ['ignore', 'ignore', 'pipe'] });
    const [printed, ended] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect(printed).toMatch(
      /^transcoder: Cannot find package '@grpc\/grpc-js' .*\. .*: npm install @grpc\/grpc-js\n$/,
    );
    expect(ended).toEqual([1, null]);
  });

  it('has a command that exits with 2 for invalid arguments', async () => {
    const command = join(user.folder, 'node_modules/.bin/transcoder');
    expect(await once(spawn(command, [], { stdio: 'ignore' }), 'close')).toEqual([2, null]);
    expect(await user.run(command, ['--version'])).toMatch(/^\d+\.\d+\.\d+(?:-dev)?\n$/);
  });
});
