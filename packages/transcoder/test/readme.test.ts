import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import {
  Metadata,
  Server,
  ServerCredentials,
  status,
  type sendUnaryData,
  type ServerUnaryCall,
} from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { serve } from '../examples/serve.js';
import { failures } from '../src/failures/failure.js';
import { withDefaults } from '../src/options.js';
import { errorOf, httpRequest } from './support/http-request.js';
import { libraryDescriptorSet } from './support/library-contract.js';
import { LibraryServer, MEMBER } from './support/library-server.js';

const PACKAGE = resolve(import.meta.dirname, '..');
const MODULES = resolve(PACKAGE, '../../node_modules');
const BIN = join(MODULES, '.bin');
const GOOGLE = join(MODULES, 'google-proto-files/google');
const readme = readFileSync(`${PACKAGE}/README.md`, 'utf8');

/** The library behind a server of grpc-js. */
async function startLibrary(path: string): Promise<string> {
  const library = new LibraryServer();
  const server = new Server();
  const same = (bytes: Buffer): Buffer => bytes;
  const handle = (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): void => {
    const metadata = new Map(
      Object.entries(call.metadata.getMap()).map(([key, value]) => [key, String(value)]),
    );
    const cancellation = { cancelled: false, onCancelled: () => undefined };
    void library
      .unary({ path, message: call.request, metadata, deadline: Infinity, cancellation })
      .then(({ code, details, message }) => {
        if (message === undefined)
          done({ code: status[status[code] as keyof typeof status], details, metadata: new Metadata() });
        else done(null, Buffer.from(message));
      });
  };
  server.register(path, handle, same, same, 'unary');
  const port = await new Promise<number>((done, fail) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) done(bound);
      else fail(error);
    });
  });
  onTestFinished(() => {
    server.forceShutdown();
  });
  return `127.0.0.1:${port}`;
}

/** The project of a user: the contract of the library, and the files that it imports. */
function folderOfContract(): string {
  const folder = mkdtempSync(join(tmpdir(), 'contract-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  cpSync(join(PACKAGE, 'test/contract'), folder, { recursive: true });
  for (const name of ['annotations', 'field_behavior', 'http', 'httpbody'])
    cpSync(join(GOOGLE, `api/${name}.proto`), join(folder, `google/api/${name}.proto`));
  return folder;
}

async function listen(target: string, descriptorSet = libraryDescriptorSet): Promise<string> {
  const server = serve(descriptorSet, target);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('the example of the README', () => {
  it('is the one that is tested here', () => {
    expect(readme).toContain(readFileSync(`${PACKAGE}/examples/serve.ts`, 'utf8'));
  });

  it('serves a contract of a gRPC server', async () => {
    const origin = await listen(await startLibrary('/library.v1.Library/GetShelf'));
    const got = await httpRequest(origin, { path: '/v1/shelves/7', headers: { authorization: MEMBER } });
    expect(got.status).toBe(200);
    expect(JSON.parse(got.text)).toMatchObject({ id: '7' });
    const refused = await httpRequest(origin, { path: '/v1/shelves/7' });
    expect(errorOf(refused)).toMatchObject({ code: 401, message: 'A token is needed.' });
  });

  it('serves what the command of the README builds', async () => {
    const [, command = ''] = /```sh\n([^]*?)```/.exec(readme) ?? [];
    const folder = folderOfContract();
    const env = { PATH: `${BIN}${delimiter}${process.env['PATH']}` };
    execFileSync('sh', ['-euc', command], { cwd: folder, env });
    const target = await startLibrary('/library.v1.Library/GetShelf');
    const origin = await listen(target, readFileSync(join(folder, 'library.binpb')));
    const got = await httpRequest(origin, { path: '/v1/shelves/7', headers: { authorization: MEMBER } });
    expect(JSON.parse(got.text)).toMatchObject({ id: '7' });
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
    expect(new Set(rows('Options'))).toEqual(new Set([...Object.keys(withDefaults(given)), 'realm']));
  });

  it('lists every reason with its status', () => {
    const [, section = ''] = readme.split('## Errors\n');
    expect(new Set(rows('Errors'))).toEqual(new Set(Object.keys(failures)));
    for (const [reason, { httpStatus }] of Object.entries(failures))
      expect(section).toContain(`| \`${reason}\` | ${httpStatus} |`);
  });
});
