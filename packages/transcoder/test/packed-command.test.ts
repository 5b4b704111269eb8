import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { httpRequest } from './support/http-request.js';
import { libraryDescriptorSet } from './support/library-contract.js';
import { opening } from './support/opening.js';
import { installPacked, type PackedPackage } from './support/packed-package.js';
import { startReflecting } from './support/reflecting-server.js';
import { eventually } from './support/running-command.js';

/** Building and packing are slow while other tests run. */
const PACKING_MS = 300_000;

describe('the command of the packed package', () => {
  let user: PackedPackage;
  let command: string;

  beforeAll(async () => {
    user = await installPacked(resolve(import.meta.dirname, '..'), [
      '@bufbuild',
      '@grpc/grpc-js',
      'lru-cache',
      'swagger-ui-dist',
    ]);
    // Makes the program executable and links it, as an installation does.
    await user.run('npm', ['rebuild', '--ignore-scripts', '@route-registry/transcoder']);
    command = join(user.folder, 'node_modules/.bin/transcoder');
  }, PACKING_MS);

  afterAll(() => user.remove());

  /** Starts the command as npx does. Returns the lines that it prints. */
  function start(...args: readonly string[]): string[] {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(async () => {
      child.kill('SIGINT');
      await once(child, 'close');
    });
    const lines: string[] = [];
    createInterface(child.stdout).on('line', (line) => lines.push(line));
    return lines;
  }

  it('serves a unary call, a stream, the OpenAPI document and the page, and follows the server', async () => {
    const server = await startReflecting();
    const { address } = server;
    const lines = start('--target', address, '--port', '0', '--all');
    await eventually(() => lines.at(-1)).toContain(`${address} is served at `);
    const origin = String(/http:\S+(?=,)/.exec(String(lines.at(-1)))?.[0]);
    const get = async (path: string) => (await httpRequest(origin, { path })).text;
    expect(await get('/v1/greetings/Ada')).toBe('{"text":"Greet Ada"}');
    expect(await get('/v1/greetings/Ada:repeat')).toBe('{"text":"Repeat Ada"}\n'.repeat(3));
    expect(await get('/openapi.json')).toContain('"/greeter.v1.Greeter/Wave"');
    expect(await get('/docs')).toContain('<title>greeter.v1</title>');
    expect(await get('/docs/swagger-ui.css')).toContain('.swagger-ui');
    server.close();
    await eventually(() => lines.at(-1)).toContain('Waiting: ');
    opening(
      await startReflecting({ address, descriptorSet: libraryDescriptorSet, listed: ['library.v1.Library'] }),
    );
    await eventually(() => lines.at(-1)).toContain(`${address} is served at `);
    expect(JSON.parse(await get('/openapi.json'))).toMatchObject({ info: { title: 'library.v1' } });
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('ends with 0 at %s', async (signal) => {
    const { address } = opening(await startReflecting());
    const child = spawn(command, ['--target', address, '--port', '0'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const closed = once(child, 'close');
    await once(child.stdout, 'data');
    child.kill(signal);
    expect(await closed).toEqual([0, null]);
  });

  it('exits with 2 for invalid arguments and with 1 if it cannot start', async () => {
    const codeOf = async (...args: readonly string[]) => {
      const child = spawn(command, args, { stdio: 'ignore' });
      const [code] = (await once(child, 'close')) as [number];
      return code;
    };
    const { address } = opening(await startReflecting({ versions: [] }));
    expect(await Promise.all([codeOf(), codeOf('--target', address, '--port', '0')])).toEqual([2, 1]);
    expect(await user.run(command, ['--version'])).toMatch(/^\d+\.\d+\.\d+(?:-dev)?\n$/);
  });
});
