import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DEFINITION } from '../../packages/client/test/support/test-client.js';
import { installPackages } from '../support/apt.js';
import { type Engine, engines } from '../support/engines.js';
import { freePort } from '../support/free-port.js';
import { Program } from '../support/process.js';
import { type Service, startServiceOn, tokenFor } from '../support/service.js';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../..');
const EXAMPLES = join(ROOT, 'examples');

/** The first of these programs that works here. */
async function firstThatWorks(programs: readonly string[], ...args: string[]): Promise<string | undefined> {
  for (const program of programs) {
    const works = await run(program, args).then(
      () => true,
      () => false,
    );
    if (works) return program;
  }
  return undefined;
}

/** The same, after an attempt to install a package of Debian or Ubuntu if none works. */
async function workingOrInstalled(
  packageName: string,
  programs: readonly string[],
  ...args: string[]
): Promise<string | undefined> {
  const found = await firstThatWorks(programs, ...args);
  if (found !== undefined) return found;
  await installPackages([packageName], 'an example needs it').catch(() => undefined);
  return firstThatWorks(programs, ...args);
}

const curl = await workingOrInstalled('curl', ['curl'], '--version');
const grpcurl = await firstThatWorks(['grpcurl'], '-version');
// Debian's python3 has Debian's packages, whatever comes first on the PATH.
const python = await workingOrInstalled(
  'python3-grpcio',
  ['python3', '/usr/bin/python3'],
  ...['-c', 'import grpc, google.protobuf'],
);

/** For the title of a test: which tool keeps it from running here. The default reporter hides the title, stderr does not. */
function unless(tool: string | undefined, missing: string): string {
  if (tool !== undefined) return '';
  process.stderr.write(`NOT RUN: the example that needs ${missing}, which is missing here.\n`);
  return ` [NOT RUN: ${missing} is missing]`;
}

async function start(engine: Engine): Promise<Service> {
  const service = await startServiceOn(engine);
  onTestFinished(() => service.close());
  return service;
}

/** Runs an example as its reader does, and returns the JSON values that it prints. */
async function printed(service: Service, program: string, ...args: string[]): Promise<unknown[]> {
  const { PATH, PYTHONPATH, LD_LIBRARY_PATH, HOME } = process.env;
  const env = {
    PATH,
    PYTHONPATH,
    LD_LIBRARY_PATH,
    HOME,
    TOKEN: tokenFor(),
    GRPC: service.grpcAddress,
    HTTP: service.httpUrl,
  };
  const { stdout } = await run(program, args, { cwd: ROOT, env });
  return stdout
    .split(/(?<=^\}|\}$)\n/m)
    .filter((text) => text.trim() !== '')
    .map((text) => JSON.parse(text) as unknown);
}

/** The route that was created, and the same as it was read back. */
function expectOneRouteTwice(routes: readonly unknown[]): void {
  expect(routes).toEqual([expect.objectContaining(DEFINITION), routes[0]]);
}

describe.each(engines)('on $name, the example', (engine) => {
  it.skipIf(curl === undefined)(
    `with curl creates a route and reads it back${unless(curl, 'curl')}`,
    async () => {
      expectOneRouteTwice(await printed(await start(engine), `${EXAMPLES}/shell/curl.sh`));
    },
  );

  it('with buf creates a route and reads it back', async () => {
    expectOneRouteTwice(await printed(await start(engine), `${EXAMPLES}/shell/buf-curl.sh`));
  });

  it.skipIf(grpcurl === undefined)(
    `with grpcurl creates a route and reads it back${unless(grpcurl, 'grpcurl')}`,
    async () => {
      expectOneRouteTwice(await printed(await start(engine), `${EXAMPLES}/shell/grpcurl.sh`));
    },
  );

  it.skipIf(python === undefined)(
    `in Python creates a route and reads it back${unless(python, 'python3-grpcio')}`,
    async () => {
      const args = [`${EXAMPLES}/python/create_and_get.py`, 'proto/route-registry.binpb'];
      expectOneRouteTwice(await printed(await start(engine), python ?? '', ...args));
    },
  );

  it('of a web application serves its routes, and registers them once however often it starts', async () => {
    const { grpcAddress } = await start(engine);
    const startApplication = async (): Promise<{ origin: string; routes: string }> => {
      const port = await freePort();
      const settings = { TOKEN: tokenFor(), GRPC: grpcAddress, PORT: String(port) };
      const program = new Program('examples/web-application', [], ROOT, settings);
      onTestFinished(async () => {
        await program.stop();
      });
      await expect.poll(() => program.stdout, { timeout: 20_000 }).toContain('Listening');
      return { origin: `http://127.0.0.1:${port}`, routes: program.stdout.replace(/^Listening.*/m, '') };
    };
    const { origin, routes } = await startApplication();
    const answers = ['/users/7', '/users/7/tasks', '/nothing'].map(async (path) => {
      const response = await fetch(`${origin}${path}`);
      return [response.status, await response.json()] as unknown;
    });
    expect(await Promise.all(answers)).toEqual([
      [200, { id: '7', name: 'User 7' }],
      [200, [{ user: '7', title: 'Read the examples' }]],
      [404, { error: 'No such page.' }],
    ]);
    expect((await startApplication()).routes).toBe(routes);
  });
});

describe.each(engines.slice(0, 1))('the example of a web application', (engine) => {
  it('says why its routes cannot be registered', async () => {
    const { grpcAddress } = await start(engine);
    const settings = { TOKEN: tokenFor({ scope: 'routes:read' }), GRPC: grpcAddress };
    const { exitCode, stderr } = await new Program('examples/web-application', [], ROOT, settings).ended;
    expect(stderr).toContain('The routes cannot be registered: PERMISSION_DENIED: ');
    expect(exitCode).toBe(1);
  });
});
