import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { serve } from '../examples/serve.js';
import { serveByReflection } from '../examples/serve-by-reflection.js';
import { failures } from '../src/failures/failure.js';
import { OPTION_KINDS } from '../src/options.js';
import { reflect } from '../src/command/reflection.js';
import { listen as listenGrpc } from './support/grpc-server.js';
import { errorOf, httpRequest } from './support/http-request.js';
import { libraryDescriptorSet } from './support/library-contract.js';
import { libraryOverGrpc, MEMBER } from './support/library-server.js';
import { listening, opening } from './support/opening.js';
import { asRecorded, startReflecting } from './support/reflecting-server.js';
import { originOf, startCommand } from './support/running-command.js';

const PACKAGE = resolve(import.meta.dirname, '..');
const MODULES = resolve(PACKAGE, '../../node_modules');
const BIN = join(MODULES, '.bin');
const GOOGLE = resolve(PACKAGE, '../../third_party/googleapis/google');
const readme = read('README.md');

function read(path: string): string {
  return readFileSync(`${PACKAGE}/${path}`, 'utf8');
}

/** Starts the library on a grpc-js server, which stops when the test ends. Returns its address. */
async function startServer(): Promise<string> {
  return opening(await listenGrpc({ unary: libraryOverGrpc() }, ['/library.v1.Library/GetShelf'])).address;
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
  it('serves the contract of a gRPC server', async () => {
    const origin = await listen(await startServer());
    const got = await httpRequest(origin, { path: '/v1/shelves/7', headers: { authorization: MEMBER } });
    expect(got.status).toBe(200);
    expect(JSON.parse(got.text)).toMatchObject({ id: '7' });
    const refused = await httpRequest(origin, { path: '/v1/shelves/7' });
    expect(errorOf(refused)).toMatchObject({ code: 401, message: 'A token is needed.' });
  });

  it("serves what the README's buf command builds", async () => {
    const [, command = ''] = /^npx (buf build .*)$/m.exec(readme) ?? [];
    const folder = folderOfContract();
    const env = { PATH: `${BIN}${delimiter}${process.env['PATH']}` };
    execFileSync('sh', ['-euc', command], { cwd: folder, env });
    const origin = await listen(await startServer(), readFileSync(join(folder, 'library.binpb')));
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
    const { address } = opening(await startReflecting());
    const origin = await listening(await serveByReflection(address));
    const got = await httpRequest(origin, { path: '/v1/greetings/Ada' });
    expect(got.text).toBe('{"text":"Greet Ada"}');
  });
});

/** The names in the first column of a table. */
function namesIn(table: string): Set<string> {
  return new Set([...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name = '']) => name));
}

describe('the documents', () => {
  const pages = readdirSync(`${PACKAGE}/docs`).map((name) => read(`docs/${name}`));
  const all = [readme, ...pages].join('\n');

  it.each(readdirSync(`${PACKAGE}/examples`))('show the example %s, which is tested', (name) => {
    expect(all).toContain(read(`examples/${name}`));
  });

  it('list every option', () => {
    const [table = ''] = read('docs/options.md').split('\n## ');
    expect(namesIn(table)).toEqual(new Set(Object.keys(OPTION_KINDS)));
  });

  it('list every reason with its status', () => {
    const page = read('docs/errors.md');
    expect(namesIn(page)).toEqual(new Set(Object.keys(failures)));
    for (const [reason, { httpStatus }] of Object.entries(failures))
      expect(page).toContain(`| \`${reason}\` | ${httpStatus} |`);
  });
});
