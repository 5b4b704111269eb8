import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { build, type Format } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { httpRequest } from './support/http-request.js';
import { installPacked, type PackedPackage } from './support/packed-package.js';

const PACKAGE = resolve(import.meta.dirname, '..');

/** Building, packing and compiling are slow while other tests run. */
const PACKING_MS = 300_000;

/** The README's example, started for a gRPC server that is not needed here. Prints its port. */
const PROGRAM = `${readFileSync(join(PACKAGE, 'examples/serve-with-page.ts'), 'utf8')}
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';

const server = serveWithPage(readFileSync('contract.binpb'), '127.0.0.1:1').listen(0, '127.0.0.1');
server.on('listening', () => console.log((server.address() as AddressInfo).port));
`;

/** Every entry of the package, and a handler for Fastify. */
const ENTRIES = `${PROGRAM}
import fastify from 'fastify';
import { reflect } from '@route-registry/transcoder/reflection';

export const contractOf = async (target: string): Promise<Uint8Array> =>
  (await reflect(target, { credentials: credentials.createInsecure() })).descriptorSet;
export const hooked = (transcoder: ReturnType<typeof createTranscoder>) =>
  fastify().addHook('onRequest', (request, reply, done) => {
    transcoder.handler(request.raw, reply.raw, done);
  });
`;

describe('the package in a program', () => {
  let user: PackedPackage;

  beforeAll(async () => {
    const modules = ['@bufbuild', '@grpc/grpc-js', 'fastify', 'lru-cache', 'swagger-ui-dist', '.bin'];
    user = await installPacked(PACKAGE, [...modules, '@types/node', 'undici-types']);
    cpSync(resolve(PACKAGE, '../../proto/route-registry.binpb'), join(user.folder, 'contract.binpb'));
  }, PACKING_MS);

  afterAll(() => user.remove());

  function write(name: string, content: string): string {
    writeFileSync(join(user.folder, name), content);
    return name;
  }

  /** Runs a program of the user, which prints its port, and expects the page from it. */
  async function expectPage(file: string): Promise<void> {
    const child = spawn('node', [file], { cwd: user.folder, stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill());
    const [port] = (await once(createInterface(child.stdout), 'line')) as [string];
    for (const path of ['/docs', '/docs/swagger-ui.js', '/openapi.json']) {
      expect((await httpRequest(`http://127.0.0.1:${port}`, { path })).status).toBe(200);
    }
  }

  it.each<[Format, string]>([
    ['esm', 'bundle.mjs'],
    ['cjs', 'bundle.cjs'],
  ])('serves the page from a bundle of esbuild that leaves packages out, as %s', async (format, outfile) => {
    const entryPoints = [write('bundled.ts', PROGRAM)];
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
  ])('compiles to CommonJS with %s, and runs', async (_, resolution) => {
    write('package.json', '{"type":"commonjs"}');
    const strict = ['--target', 'es2023', '--types', 'node', '--strict', '--esModuleInterop'];
    // Fastify's own declarations do not compile without `skipLibCheck`.
    await user.run('tsc', [...resolution, ...strict, '--skipLibCheck', write('required.ts', ENTRIES)]);
    expect(readFileSync(join(user.folder, 'required.js'), 'utf8')).toContain(
      'require("@route-registry/transcoder/page")',
    );
    await expectPage('required.js');
  });
});
