import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { credentials, Metadata } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { serve } from '../examples/serve.js';
import { serveByReflection } from '../examples/serve-by-reflection.js';
import { failures } from '../src/failures/failure.js';
import { optionsInForce } from '../src/options.js';
import { reflect } from '../src/reflection.js';
import { Deferred } from './support/deferred.js';
import { listen as listenGrpc } from './support/grpc-server.js';
import { errorOf, httpRequest, reasonOf } from './support/http-request.js';
import { startHttp2Server } from './support/http2-server.js';
import { libraryDescriptorSet } from './support/library-contract.js';
import { LibraryServer, MEMBER } from './support/library-server.js';
import { listening } from './support/listening.js';
import { opening } from './support/opening.js';
import { asRecorded } from './support/recorded-reflection.js';
import { startReflecting } from './support/reflecting-server.js';
import { originOf, startCommand } from './support/running-command.js';

const PACKAGE = resolve(import.meta.dirname, '..');
const MODULES = resolve(PACKAGE, '../../node_modules');
const BIN = join(MODULES, '.bin');
const GOOGLE = join(MODULES, 'google-proto-files/google');
const GET_SHELF = '/library.v1.Library/GetShelf';
const readme = readFileSync(`${PACKAGE}/README.md`, 'utf8');

type Answer = Parameters<typeof listenGrpc>[0]['unary'];

/** The library, for a grpc-js server. */
function library(): Answer {
  const server = new LibraryServer();
  return async (call) => ({
    ...(await server.unary(call)),
    initialMetadata: undefined,
    trailers: new Metadata(),
  });
}

/** Starts a grpc-js server with one method, which stops when the test ends. Returns its address. */
async function startServer(unary: Answer): Promise<string> {
  return opening(await listenGrpc({ unary }, [GET_SHELF])).address;
}

/** A user's project: the library's contract, the package with the files that it imports, and a buf.yaml. */
function folderOfContract(): string {
  const folder = mkdtempSync(join(tmpdir(), 'contract-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  cpSync(join(PACKAGE, 'test/contract/library'), join(folder, 'proto/library'), { recursive: true });
  cpSync(join(GOOGLE, 'api'), join(folder, 'node_modules/google-proto-files/google/api'), {
    recursive: true,
  });
  const [, config = ''] = /```yaml\n(.*?)```/s.exec(readme) ?? [];
  writeFileSync(join(folder, 'buf.yaml'), config);
  return folder;
}

async function listen(target: string, descriptorSet = libraryDescriptorSet): Promise<string> {
  return listening(serve(descriptorSet, target));
}

describe("the README's example", () => {
  it('is the example that is tested here', () => {
    expect(readme).toContain(readFileSync(`${PACKAGE}/examples/serve.ts`, 'utf8'));
  });

  it('serves the contract of a gRPC server', async () => {
    const origin = await listen(await startServer(library()));
    const got = await httpRequest(origin, { path: '/v1/shelves/7', headers: { authorization: MEMBER } });
    expect(got.status).toBe(200);
    expect(JSON.parse(got.text)).toMatchObject({ id: '7' });
    const refused = await httpRequest(origin, { path: '/v1/shelves/7' });
    expect(errorOf(refused)).toMatchObject({ code: 401, message: 'A token is needed.' });
  });

  it('does not reveal the address of a server that has stopped', async () => {
    const server = await listenGrpc({ unary: library() }, [GET_SHELF]);
    server.close();
    const got = await httpRequest(await listen(server.address), { path: '/v1/shelves/7' });
    expect(errorOf(got)).toMatchObject({ code: 503, message: 'The service is unavailable.' });
    expect(reasonOf(got)).toBe('UPSTREAM_UNAVAILABLE');
    expect(got.text).not.toMatch(/ECONNREFUSED|127\.0\.0\.1/);
  });

  it('waits for a slow server no longer than the client does', async () => {
    // Unlike a grpc-js server, it does not end calls at their deadlines.
    const slow = await startHttp2Server(() => undefined);
    const origin = await listen(slow.address);
    const headers = { 'request-timeout': '0.1' };
    const got = await httpRequest(origin, { path: '/v1/shelves/7', headers });
    expect(errorOf(got)).toMatchObject({
      code: 504,
      message: 'The deadline passed before the call was answered.',
    });
    expect(got.text).not.toMatch(/remote_addr|127\.0\.0\.1/);
  });

  it('tells the server when the client disconnects', async () => {
    const called = new Deferred();
    const leftMs = new Deferred<number>();
    const server = startServer(({ cancellation, deadline }) => {
      cancellation.onCancelled(() => {
        leftMs.resolve(deadline - Date.now());
      });
      called.resolve();
      return new Promise(() => undefined);
    });
    const client = get(`${await listen(await server)}/v1/shelves/7`).on('error', () => undefined);
    await called.promise;
    client.destroy();
    // The deadline, which comes later, was not the cause.
    expect(await leftMs.promise).toBeGreaterThan(0);
  });

  it("serves what the README's buf command builds", async () => {
    const [, command = ''] = /^npx (buf build .*)$/m.exec(readme) ?? [];
    const folder = folderOfContract();
    const env = { PATH: `${BIN}${delimiter}${process.env['PATH']}` };
    execFileSync('sh', ['-euc', command], { cwd: folder, env });
    const target = await startServer(library());
    const origin = await listen(target, readFileSync(join(folder, 'library.binpb')));
    const got = await httpRequest(origin, { path: '/v1/shelves/7', headers: { authorization: MEMBER } });
    expect(JSON.parse(got.text)).toMatchObject({ id: '7' });
  });
});

describe("the README's command", () => {
  it("prints what the README shows, in front of grpc-go's example", async () => {
    const recorded = opening(await startReflecting({ reflection: asRecorded('v1') }));
    const { descriptorSet } = await reflect(recorded.address, { credentials: credentials.createInsecure() });
    const listed = ['grpc.examples.echo.Echo', 'helloworld.Greeter'];
    const { address } = opening(await startReflecting({ descriptorSet, listed }));
    const command = startCommand('--target', address, '--all');
    const origin = await originOf(command);
    const printed = command.lines
      .map((line) => `${line}\n`)
      .join('')
      .replaceAll(address, 'localhost:50051')
      .replaceAll(origin, 'http://127.0.0.1:8080');
    expect(readme).toContain(`$ npx transcoder --target localhost:50051 --all\n${printed}\`\`\``);
  });

  it('has an example of a program that serves by reflection', async () => {
    expect(readme).toContain(readFileSync(`${PACKAGE}/examples/serve-by-reflection.ts`, 'utf8'));
    const { address } = opening(await startReflecting());
    const origin = await listening(await serveByReflection(address));
    const got = await httpRequest(origin, { path: '/v1/greetings/Ada' });
    expect(got.text).toBe('{"text":"Greet Ada"}');
  });
});

describe('the README', () => {
  const rows = (heading: string): string[] => {
    const [, section = ''] = readme.split(`## ${heading}\n`);
    const [table = ''] = section.split('\n## ');
    return [...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name = '']) => name);
  };

  it('lists every option', () => {
    const given = { descriptorSet: new Uint8Array(), upstream: new LibraryServer() };
    expect(new Set(rows('Options'))).toEqual(
      new Set([...Object.keys(optionsInForce(given).options), 'realm']),
    );
  });

  it('lists every reason with its status', () => {
    const [, section = ''] = readme.split('## Errors\n');
    expect(new Set(rows('Errors'))).toEqual(new Set(Object.keys(failures)));
    for (const [reason, { httpStatus }] of Object.entries(failures))
      expect(section).toContain(`| \`${reason}\` | ${httpStatus} |`);
  });
});
