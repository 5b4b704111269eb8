import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DEFINITION } from '../../packages/client/test/support/test-client.js';
import { requireBuild } from '../support/build-folder.js';
import { freePort } from '../support/free-port.js';
import { needs, programPath, supplies } from '../support/needs.js';
import { Program } from '../support/process.js';
import { type Service, SERVICE_SETTINGS, startService, tokenFor } from '../support/service.js';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../..');
const EXAMPLES = join(ROOT, 'examples');
const README = readFileSync(join(EXAMPLES, 'README.md'), 'utf8');

async function start(): Promise<Service> {
  const service = await startService({ databaseUrl: 'sqlite::memory:' });
  onTestFinished(() => service.close());
  return service;
}

/** Runs an example as its README shows and returns the JSON values that it prints. */
async function runExample(service: Service, program: string, ...args: string[]): Promise<unknown[]> {
  const { PYTHONPATH, LD_LIBRARY_PATH, HOME } = process.env;
  const folders = Object.values(supplies.programs).map((path) => dirname(path));
  const PATH = [...folders, process.env['PATH']].join(delimiter);
  const env = {
    PATH,
    PYTHONPATH,
    LD_LIBRARY_PATH,
    HOME,
    TOKEN: tokenFor(),
    GRPC: service.grpcAddress,
    HTTP: service.httpUrl,
  };
  const command = [program.startsWith(EXAMPLES) ? program : basename(program), ...args].join(' ');
  expect(README).toContain(`| \`${command.replaceAll(`${ROOT}/`, '')}\` |`);
  const { stdout } = await run(program, args, { cwd: ROOT, env });
  return valuesIn(stdout);
}

function valuesIn(stdout: string): unknown[] {
  return stdout
    .split(/(?<=^\}|\}$)\n/m)
    .filter((text) => text.trim() !== '')
    .map((text) => JSON.parse(text) as unknown);
}

function webApplication(settings: Readonly<Record<string, string>>): Program {
  expect(README).toContain('| `npm run --silent build:examples && node dist/examples/web-application.js` |');
  requireBuild('examples');
  return new Program('examples/web-application', [], ROOT, settings);
}

/** Checks that an example printed the created route, and then the same route as it was read back. */
function expectOneRouteTwice(routes: readonly unknown[]): void {
  expect(routes).toEqual([expect.objectContaining(DEFINITION), routes[0]]);
}

describe('the example', () => {
  it('with curl creates a route and reads it back', needs('curl'), async () => {
    expectOneRouteTwice(await runExample(await start(), `${EXAMPLES}/shell/curl.sh`));
  });

  it('with buf creates a route and reads it back, with the token command of the README', async () => {
    const { grpcAddress } = await start();
    const [, command = ''] = /```sh\n([^]*?)```/.exec(README) ?? [];
    expect(README).toContain('| `examples/shell/buf-curl.sh` |');
    const { PATH, HOME } = process.env;
    const { stdout } = await run('sh', ['-euc', `${command}\nexamples/shell/buf-curl.sh`], {
      cwd: ROOT,
      env: { PATH, HOME, ...SERVICE_SETTINGS, GRPC: grpcAddress },
    });
    expectOneRouteTwice(valuesIn(stdout));
  });

  it('with grpcurl creates a route and reads it back', needs('grpcurl'), async () => {
    expectOneRouteTwice(await runExample(await start(), `${EXAMPLES}/shell/grpcurl.sh`));
  });

  it('in Python creates a route and reads it back', needs('python'), async () => {
    const example = `${EXAMPLES}/python/create_and_get.py`;
    expectOneRouteTwice(await runExample(await start(), programPath('python'), example));
  });

  it.each([
    ['a token', [], {}, 'TOKEN is not set: export TOKEN='],
    ['the contract', ['none.binpb'], { TOKEN: 'x' }, 'There is no descriptor set none.binpb: '],
  ])(
    'in Python says in one sentence that %s is missing',
    needs('python'),
    async (_, args, variables, sentence) => {
      const { PYTHONPATH, LD_LIBRARY_PATH, PATH } = process.env;
      const env = { PATH, PYTHONPATH, LD_LIBRARY_PATH, ...variables };
      const example = run(programPath('python'), [`${EXAMPLES}/python/create_and_get.py`, ...args], { env });
      await expect(example).rejects.toMatchObject({
        code: 1,
        stderr: expect.stringContaining(sentence) as string,
      });
    },
  );

  it.each(['curl', 'buf-curl', 'grpcurl'])('%s.sh says that TOKEN is missing', async (name) => {
    const { PATH } = process.env;
    const example = run(`${EXAMPLES}/shell/${name}.sh`, [], { env: { PATH } });
    await expect(example).rejects.toMatchObject({
      stderr: expect.stringContaining('TOKEN: is not set.') as string,
    });
  });

  it('of a web application serves its routes and registers them only once across restarts', async () => {
    const { grpcAddress } = await start();
    const startApplication = async (): Promise<{ origin: string; routes: string }> => {
      const port = await freePort();
      const settings = { TOKEN: tokenFor(), GRPC: grpcAddress, PORT: String(port) };
      const program = webApplication(settings);
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

  it('of a web application says why its routes cannot be registered', async () => {
    const { grpcAddress } = await start();
    const settings = { TOKEN: tokenFor({ scope: 'routes:read' }), GRPC: grpcAddress };
    const { exitCode, stderr } = await webApplication(settings).ended;
    expect(stderr).toContain('The routes cannot be registered: PERMISSION_DENIED: ');
    expect(exitCode).toBe(1);
  });
});

describe('the example of a deployed application', () => {
  /** A program of the shop, which uses a manifest of this name. */
  function shop(folder: string, manifest: string, name: string, settings: Record<string, string>): Program {
    expect(README).toContain(`${name}.js`);
    requireBuild('examples');
    const MANIFEST = join(folder, manifest);
    const program = new Program(`examples/shop/${name}`, [], ROOT, { MANIFEST, ...settings });
    onTestFinished(async () => {
      await program.stop();
    });
    return program;
  }

  function temporaryFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), 'shop-'));
    onTestFinished(() => {
      rmSync(folder, { recursive: true });
    });
    return folder;
  }

  it('gets the same ids from deploys at once and from a later one, and others for another sub', async () => {
    const { grpcAddress: GRPC } = await start();
    const folder = temporaryFolder();
    const deploy = async (manifest: string, sub: string) => {
      const TOKEN = tokenFor({ scope: 'routes:write', sub });
      const { stdout, stderr } = await shop(folder, manifest, 'deploy', { GRPC, TOKEN }).ended;
      expect(stderr).toBe('');
      return { stdout, ids: JSON.parse(readFileSync(join(folder, manifest), 'utf8')) as string[] };
    };
    const [first, second] = await Promise.all([deploy('first', 'ci'), deploy('second', 'ci')]);
    expect(new Set(first.ids).size).toBe(100);
    expect(second.ids).toEqual(first.ids);
    const later = await deploy('later', 'ci');
    expect(later).toEqual({ stdout: '100 routes: 0 new, 100 as before.\n', ids: first.ids });
    const laptop = await deploy('laptop', 'laptop');
    expect(laptop.stdout).toBe('100 routes: 100 new, 0 as before.\n');
    expect(laptop.ids.filter((id) => first.ids.includes(id))).toEqual([]);
  });

  it.each(['express-server', 'fastify-server'])(
    'serves its routes with the %s, with read scope alone, also while the registry is away',
    async (name) => {
      const service = await startService({ databaseUrl: 'sqlite::memory:' });
      const folder = temporaryFolder();
      const settings = { GRPC: service.grpcAddress, PORT: String(await freePort()) };
      const run = (program: string, scope: string) =>
        shop(folder, 'routes.json', program, { ...settings, TOKEN: tokenFor({ scope }) });
      expect((await run('deploy', 'routes:write').ended).exitCode).toBe(0);
      const server = run(name, 'routes:read');
      await expect.poll(() => server.stdout, { timeout: 20_000 }).toContain('Listening');
      await service.close();
      const answers = [
        { method: 'GET', path: '/orders/7' },
        { method: 'PUT', path: '/orders/7', headers: { authorization: 'me' } },
        { method: 'PUT', path: '/orders/7' },
        { method: 'GET', path: '/wishlists' },
      ].map(async ({ path, ...init }) => {
        const response = await fetch(`http://127.0.0.1:${settings.PORT}${path}`, init);
        return [response.status, await response.json()] as unknown;
      });
      expect(await Promise.all(answers)).toEqual([
        [200, { handler: 'orders.get', id: '7' }],
        [200, { handler: 'orders.replace', id: '7' }],
        [401, { error: 'Who are you?' }],
        [200, { handler: 'wishlists.list' }],
      ]);
    },
  );

  it('says why its routes cannot be registered', async () => {
    const { grpcAddress: GRPC } = await start();
    const TOKEN = tokenFor({ scope: 'routes:read' });
    const { exitCode, stderr } = await shop(temporaryFolder(), 'none', 'deploy', { GRPC, TOKEN }).ended;
    expect(stderr).toBe(
      'The routes cannot be registered: PERMISSION_DENIED: The token lacks the scope routes:write.\n',
    );
    expect(exitCode).toBe(1);
  });
});
