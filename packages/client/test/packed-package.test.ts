import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { npmPackages } from '../../../test/support/npm-packages.js';
import { startFaultServer, STORED } from './support/fault-server.js';
import {
  installPacked,
  linksOutside,
  type PackedPackage,
} from '../../transcoder/test/support/packed-package.js';

const PACKAGE = resolve(import.meta.dirname, '..');
const PROTO = resolve(import.meta.dirname, '../../../proto');
const GOOGLE = resolve(import.meta.dirname, '../../../third_party/googleapis');
const SOURCE = 'routing/v1/route_service.proto';
const ID = '01a1f941-715b-7593-b057-19259d7b5bfc';

/** What programs write, with every form of a create. */
const PROGRAM = `
import { type CheckedRoute, type CreateOptions, createRouteClient, type Route, type RouteClient, RouteClientError } from '@route-registry/client';

const definition = { method: 'GET', path: '/users/:id', handler: 'getUser' };

async function deploy(client: RouteClient, options?: CreateOptions): Promise<Route> {
  const stored: Route = await client.createRoute(definition, { idempotencyKey: 'key', requestId: 'log' });
  const checked: CheckedRoute = await client.checkRoute(stored, { idempotencyKey: 'key' });
  await client.createRoute(checked, options);
  return (await client.createRouteOnce(definition, { idempotencyKey: 'key' })).route;
}

const client = createRouteClient(process.argv[2] ?? '', { token: () => Promise.resolve('x'), tls: false });
void deploy(client).then(({ id }) => {
  console.log(id);
  client.close();
}, (error: unknown) => console.log(error instanceof RouteClientError ? error.status : error));
`;

/** Fakes with the types of Jest and of Sinon, as tests of programs write them. */
const FAKES = `
import { jest } from '@jest/globals';
import type { RouteClient } from '@route-registry/client';
import type { SinonStatic, SinonStub } from 'sinon';

export const ofJest: RouteClient = {
  createRoute: jest.fn<RouteClient['createRoute']>(),
  createRouteOnce: jest.fn<RouteClient['createRouteOnce']>(),
  checkRoute: jest.fn<RouteClient['checkRoute']>(),
  getRoute: jest.fn<RouteClient['getRoute']>(),
  close: jest.fn<RouteClient['close']>(),
};

export function ofSinon(sinon: SinonStatic): RouteClient {
  type Stub<Name extends keyof RouteClient> = SinonStub<Parameters<RouteClient[Name]>, ReturnType<RouteClient[Name]>>;
  const createRoute: Stub<'createRoute'> = sinon.stub();
  const getRoute: Stub<'getRoute'> = sinon.stub();
  createRoute.resolves({ id: 'x', method: 'GET', path: '/', middleware: [], handler: 'h', createdAt: new Date() });
  return { createRoute, createRouteOnce: sinon.stub(), checkRoute: sinon.stub(), getRoute, close: sinon.stub() };
}
`;

/** Cancels a call with a signal of happy-dom. */
const FOREIGN_SIGNAL = `
import { createRouteClient } from '@route-registry/client';
import { Window } from 'happy-dom';

const client = createRouteClient(process.argv[1], { token: 'a.good.token' });
const controller = new (new Window().AbortController)();
const call = client.getRoute('x', { signal: controller.signal });
controller.abort();
await call.catch((error) => console.log(error.status));
client.close();
`;

/** Building and packing are slow while other tests run. */
const PACKING_MS = 300_000;

describe("the package in a user's project", () => {
  let user: PackedPackage;

  beforeAll(async () => {
    const modules = ['@bufbuild', '@grpc/grpc-js', '@grpc/proto-loader', '.bin'];
    const beside = [...modules, '@types/node', 'undici-types'];
    user = await installPacked(PACKAGE, beside);
    cpSync(GOOGLE, join(user.folder, 'node_modules/google-proto-files'), { recursive: true });
  }, PACKING_MS);

  afterAll(() => user.remove());

  it('contains the current contract and no files that only this repository needs', () => {
    for (const name of ['route-registry.binpb', SOURCE])
      expect(readFileSync(join(user.installed, 'proto', name))).toEqual(readFileSync(join(PROTO, name)));
    expect(readdirSync(user.installed).sort()).toEqual(['README.md', 'dist', 'package.json', 'proto']);
    expect(readdirSync(join(user.installed, 'proto')).sort()).toEqual(['route-registry.binpb', 'routing']);
    expect(readdirSync(join(user.installed, 'dist'))).not.toContain('.tsbuildinfo');
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
      const { address } = await startFaultServer(() => STORED);
      expect(await user.run('node', ['program.js', address])).toBe(`${ID}\n`);
    },
    PACKING_MS,
  );

  it('has no link in its README to a file outside the package', () => {
    expect(linksOutside(user.installed, 'README.md')).toEqual([]);
  });

  function link(name: string, modules: string): void {
    symlinkSync(join(modules, name), join(user.folder, 'node_modules', name));
  }

  function write(name: string, content: string): string {
    writeFileSync(join(user.folder, name), content);
    return name;
  }

  it(
    'is loaded by Jest, and calls the service',
    async () => {
      write('package.json', '{"type":"commonjs"}');
      const { address } = await startFaultServer(() => STORED);
      await user.jest(`
        const { createRouteClient, RouteClientError } = require('@route-registry/client');

        test('it calls', async () => {
          const client = createRouteClient('${address}', { token: 'a.good.token' });
          expect((await client.getRoute('${ID}')).id).toBe('${ID}');
          client.close();
          await expect(client.getRoute('${ID}')).rejects.toBeInstanceOf(RouteClientError);
        });`);
    },
    PACKING_MS,
  );

  it(
    'has types that fakes of Jest and Sinon fit',
    async () => {
      link('@jest', await npmPackages({ jest: '30.5.2' }));
      link('@types/sinon', await npmPackages({ '@types/sinon': '22.0.2' }));
      write('package.json', '{"type":"module"}');
      await user.compile(write('fakes.ts', FAKES), '--noEmit', '--skipLibCheck', 'true');
    },
    PACKING_MS,
  );

  it(
    'takes a signal of happy-dom',
    async () => {
      link('happy-dom', await npmPackages({ 'happy-dom': '21.0.4' }));
      const { address } = await startFaultServer(() => 'never');
      expect(await user.run('node', ['--input-type=module', '--eval', FOREIGN_SIGNAL, address])).toBe(
        'CANCELLED\n',
      );
    },
    PACKING_MS,
  );

  it('is one copy for import and for require', async () => {
    const program = `
      import { createRequire } from 'node:module';
      import { RouteClientError } from '@route-registry/client';
      const { createRouteClient } = createRequire(import.meta.url)('@route-registry/client');
      const client = createRouteClient('127.0.0.1:1', { token: 'a.good.token' });
      client.close();
      await client.getRoute('x').catch((error) => console.log(error instanceof RouteClientError));`;
    expect(await user.run('node', ['--input-type=module', '--eval', program])).toBe('true\n');
  });

  it('lets proto-loader read its descriptor set', async () => {
    const server = await startFaultServer(() => STORED);
    const program = `
      import { readFileSync } from 'node:fs';
      import { credentials, loadPackageDefinition } from '@grpc/grpc-js';
      import { loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader';
      const contract = new URL(import.meta.resolve('@route-registry/client/route-registry.binpb'));
      const { routing } = loadPackageDefinition(loadFileDescriptorSetFromBuffer(readFileSync(contract)));
      const client = new routing.v1.RouteService('${server.address}', credentials.createInsecure());
      client.getRoute({ route_id: '${ID}' }, (error, route) => (console.log(error ?? route), client.close()));`;
    expect(await user.run('node', ['--input-type=module', '--eval', program])).toContain(`id: '${ID}'`);
    expect(server.ids).toEqual([ID]);
  });

  it('lets proto-loader read its .proto file with google-proto-files as the second include path', async () => {
    const program = `
      import { loadSync } from '@grpc/proto-loader';
      const includeDirs = ['node_modules/@route-registry/client/proto', 'node_modules/google-proto-files'];
      console.log(Object.keys(loadSync('${SOURCE}', { includeDirs })['routing.v1.RouteService']).join());`;
    expect(await user.run('node', ['--input-type=module', '--eval', program])).toBe('CreateRoute,GetRoute\n');
  });
});
