import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, it } from 'vitest';
import { errorOf, httpRequest } from '../../packages/transcoder/test/support/http-request.js';
import { unpackFiles } from '../support/debian-packages.js';
import { freePort } from '../support/free-port.js';
import { needs, programPath } from '../support/needs.js';
import { startReadmeCommand } from './rig/readme-command.js';
import { startProgram } from './rig/started-program.js';

const run = promisify(execFile);

/** The sources of grpc-go, and of what it imports, in Debian. */
const SOURCES = [
  'golang-google-grpc-dev',
  'golang-github-golang-protobuf-1-5-dev',
  'golang-google-protobuf-dev',
  'golang-google-genproto-dev',
  'golang-golang-x-net-dev',
  'golang-golang-x-sys-dev',
  'golang-golang-x-text-dev',
];

/** Builds grpc-go's example of reflection. @returns the path of the program */
async function buildExample(folder: string): Promise<string> {
  const files = await unpackFiles(SOURCES);
  await cp(join(files, 'usr/share/gocode'), folder, { recursive: true });
  const examples = join(folder, 'src/google.golang.org/grpc/examples');
  await cp(join(files, 'usr/share/doc/golang-google-grpc-dev/examples'), examples, { recursive: true });
  const main = join(examples, 'features/reflection/server/main.go');
  await writeFile(main, (await readFile(main, 'utf8')).replace('":%d"', '"127.0.0.1:%d"'));
  const program = join(folder, 'server');
  const env = {
    ...process.env,
    GO111MODULE: 'off',
    GOCACHE: join(folder, 'cache'),
    GOPATH: folder,
    CGO_ENABLED: '0',
  };
  await run(programPath('go'), ['build', '-o', program, dirname(main)], { env });
  return program;
}

it("grpc-go's example of reflection is served by the names of its methods", needs('go'), async () => {
  const folder = await mkdtemp(join(inject('temporaryFolder'), 'grpc-go-'));
  const program = await buildExample(folder);
  const port = await freePort();
  await startProgram(program, ['-port', String(port)], { cwd: folder, at: { host: '127.0.0.1', port } });
  const origin = await startReadmeCommand('grpc-go', `127.0.0.1:${port}`);
  const post = (path: string, body: object) =>
    httpRequest(origin, {
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  expect((await post('/helloworld.Greeter/SayHello', { name: 'you' })).text).toBe('{"message":"Hello you"}');
  expect((await post('/grpc.examples.echo.Echo/UnaryEcho', { message: 'ü' })).text).toBe('{"message":"ü"}');
  // The example leaves it out.
  expect(errorOf(await post('/grpc.examples.echo.Echo/ServerStreamingEcho', {}))).toMatchObject({
    code: 501,
    message: 'method ServerStreamingEcho not implemented',
  });
});
