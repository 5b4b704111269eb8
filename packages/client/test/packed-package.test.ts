import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFaultServer, STORED } from './support/fault-server.js';
import {
  installPacked,
  linksOutside,
  type PackedPackage,
} from '../../transcoder/test/support/packed-package.js';

const PACKAGE = resolve(import.meta.dirname, '..');
const PROTO = resolve(import.meta.dirname, '../../../proto');
const GOOGLE = resolve(import.meta.dirname, '../../../third_party/googleapis');
const SOURCES = resolve(import.meta.dirname, '../src');
const SOURCE = 'routing/v1/route_service.proto';
const ID = '01a1f941-715b-7593-b057-19259d7b5bfc';

/** What a program and its tests write, with every form of a create. */
const PROGRAM = `
import { type CheckedRoute, type CreateOptions, createRouteClient, type Route, type RouteClient, RouteClientError } from '@route-registry/client';
import { createTestRouteClient } from '@route-registry/client/testing';

const definition = { method: 'GET', path: '/users/:id', handler: 'getUser' };

export const over = (target: string): RouteClient => createRouteClient(target, { token: async () => 'x', tls: false });

async function deploy(client: RouteClient, dryRun: boolean, options: CreateOptions = {}): Promise<string[]> {
  const stored: Route = await client.createRoute(definition, { idempotencyKey: 'key', requestId: 'log' });
  const checked: CheckedRoute = await client.createRoute(definition, { validateOnly: true });
  const either: Route | CheckedRoute = await client.createRoute(definition, { validateOnly: dryRun });
  const other = await client.createRoute(definition, options);
  const { route, replayed } = await client.createRouteOnce(definition, { idempotencyKey: 'key' });
  const found: readonly unknown[] = [either, other, stored.createdAt];
  return [
    route.id === stored.id && found.length === 3 ? 'stored' : '',
    'id' in checked ? '' : 'checked',
    replayed ? 'repeated' : '',
  ];
}

async function main(): Promise<void> {
  const client = createTestRouteClient();
  const said = await deploy(client, true);
  client.failNext({ reason: 'STORE_UNAVAILABLE' });
  const failure = await client.getRoute('x').catch((error: unknown) => error);
  if (failure instanceof RouteClientError) console.log([...said, failure.status].join(', '));
}

void main();
`;

/** Building and packing are slow while other tests run. */
const PACKING_MS = 300_000;

describe("the package in a user's project", () => {
  let user: PackedPackage;
  let readme: string;

  beforeAll(async () => {
    const modules = ['@bufbuild', '@grpc/grpc-js', '@grpc/proto-loader', '.bin'];
    const beside = [...modules, '@types/node', 'undici-types'];
    user = await installPacked(PACKAGE, beside);
    cpSync(GOOGLE, join(user.folder, 'node_modules/google-proto-files'), { recursive: true });
    readme = readFileSync(join(user.installed, 'README.md'), 'utf8');
  }, PACKING_MS);

  afterAll(() => user.remove());

  /** The first code block in a language under the README's heading about the contract, with the server's address. */
  function block(language: string, address: string): string {
    const [, section = ''] = readme.split('## The contract for other tools\n');
    const [, code = ''] = section.split(`\`\`\`${language}\n`);
    const [text = ''] = code.split('```');
    return text.replaceAll('127.0.0.1:50051', address).replaceAll('PUT-THE-ID-HERE', ID);
  }

  it('contains the current contract and no files that only this repository needs', () => {
    for (const name of ['route-registry.binpb', SOURCE])
      expect(readFileSync(join(user.installed, 'proto', name))).toEqual(readFileSync(join(PROTO, name)));
    expect(readdirSync(user.installed).sort()).toEqual(['README.md', 'dist', 'package.json', 'proto']);
    expect(readdirSync(join(user.installed, 'proto')).sort()).toEqual(['route-registry.binpb', 'routing']);
    expect(readdirSync(join(user.installed, 'dist'))).not.toContain('.tsbuildinfo');
  });

  it('has source maps that contain the sources', () => {
    const dist = join(user.installed, 'dist');
    const maps = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.map'),
    );
    expect(maps).toContain('route-client.js.map');
    for (const name of maps) {
      const source = readFileSync(join(SOURCES, name.replace(/\.js\.map$/, '.ts')), 'utf8');
      expect(JSON.parse(readFileSync(join(dist, name), 'utf8'))).toMatchObject({ sourcesContent: [source] });
    }
  });

  it(
    'has types for every way to resolve it',
    async () => {
      expect(await user.typeProblems(['./route-registry.binpb'])).toBe('');
    },
    PACKING_MS,
  );

  it.each([
    ['module: nodenext', 'module', ['--module', 'nodenext']],
    ['module: node16, to CommonJS', 'commonjs', ['--module', 'node16']],
    [
      'module: commonjs and moduleResolution: node10',
      'commonjs',
      ['--module', 'commonjs', '--moduleResolution', 'node10', '--ignoreDeprecations', '6.0'],
    ],
  ])(
    'compiles what programs write with %s, and runs',
    async (_, type, resolution) => {
      write('package.json', JSON.stringify({ type }));
      const strict = ['--target', 'es2023', '--types', 'node', '--strict', '--exactOptionalPropertyTypes'];
      await user.run('tsc', [...resolution, ...strict, write('program.ts', PROGRAM)]);
      expect(await user.run('node', ['program.js'])).toBe('stored, checked, repeated, UNAVAILABLE\n');
    },
    PACKING_MS,
  );

  it('has no link in its README to a file outside the package', () => {
    expect(linksOutside(user.installed, 'README.md')).toEqual([]);
  });

  it('exports its package.json', async () => {
    const program = `console.log(require('@route-registry/client/package.json').name)`;
    expect(await user.run('node', ['--eval', program])).toBe('@route-registry/client\n');
  });

  function write(name: string, content: string): string {
    writeFileSync(join(user.folder, name), content);
    return name;
  }

  it('calls the service', async () => {
    const { address } = await startFaultServer(() => STORED);
    const program = `
      import { createRouteClient } from '@route-registry/client';
      const client = createRouteClient('${address}', { token: 'a.good.token' });
      console.log((await client.getRoute('${ID}')).id);
      client.close();`;
    expect(await user.run('node', ['--input-type=module', '--eval', program])).toBe(`${ID}\n`);
  });

  it("lets proto-loader read its descriptor set with the README's program", async () => {
    const server = await startFaultServer(() => STORED);
    writeFileSync(join(user.folder, 'get.mjs'), block('js', server.address));
    expect(await user.run('node', ['get.mjs'], { TOKEN: 'a.good.token' })).toContain(`id: '${ID}'`);
    expect(server.ids).toEqual([ID]);
    expect(server.tokens).toEqual(['Bearer a.good.token']);
  });

  /** Gets a route with one of the README's shell commands, after the first command, which locates the contract. */
  async function getBy(tool: string): Promise<void> {
    const server = await startFaultServer(() => STORED);
    const [place = '', ...calls] = block('sh', server.address).split('\n\n');
    const call = calls.find((each) => each.includes(`${tool} `)) ?? '';
    const printed = await user.run('sh', ['-euc', `${place}\n${call}`], { TOKEN: 'a.good.token' });
    expect(JSON.parse(printed)).toMatchObject({ id: ID, handler: 'getUser' });
    expect(server.ids).toEqual([ID]);
  }

  it("lets buf read its descriptor set with the README's command", async () => {
    await getBy('buf curl');
  });

  it('lets proto-loader read its .proto file with google-proto-files as the second include path', async () => {
    const program = `
      import { loadSync } from '@grpc/proto-loader';
      const includeDirs = ['node_modules/@route-registry/client/proto', 'node_modules/google-proto-files'];
      console.log(Object.keys(loadSync('${SOURCE}', { includeDirs })['routing.v1.RouteService']).join());`;
    expect(await user.run('node', ['--input-type=module', '--eval', program])).toBe('CreateRoute,GetRoute\n');
  });

  it('exports its .proto file under a subpath', async () => {
    const program = `console.log(import.meta.resolve('@route-registry/client/proto/${SOURCE}'))`;
    const printed = await user.run('node', ['--input-type=module', '--eval', program]);
    expect(printed).toBe(`file://${user.installed}/proto/${SOURCE}\n`);
  });
});
