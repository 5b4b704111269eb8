import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import {
  createFileRegistry,
  fromBinary,
  fromJson,
  type JsonObject,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { Metadata, status } from '@grpc/grpc-js';
import { type GrpcReply, listen } from './grpc-server.js';
import { installPacked } from './packed-package.js';

const PACKAGE = resolve(import.meta.dirname, '../..');

/** What the user's contract imports, and the contract itself. */
const PROTOS = [
  ...['annotations', 'client', 'field_behavior', 'http', 'launch_stage', 'resource'].map(
    (name) => `api/${name}`,
  ),
  'example/library/v1/library',
];

/** The README's example, started for the gRPC server that the first argument names. */
const PROGRAM = `${readFileSync(join(PACKAGE, 'examples/serve-with-page.ts'), 'utf8')}
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';

const server = serveWithPage(readFileSync('library.binpb'), process.argv[2] ?? '').listen(0, '127.0.0.1');
server.on('listening', () => console.log((server.address() as AddressInfo).port));
`;

/** Google's library example, served by the packed package in a user's project. */
export interface PackedLibrary {
  readonly origin: string;
  close(): Promise<void>;
}

/** Installs the packed package, builds the contract, compiles the program, and starts it and its gRPC server. */
export async function startPackedLibrary(): Promise<PackedLibrary> {
  const modules = ['@bufbuild', '@grpc/grpc-js', 'lru-cache', 'swagger-ui-dist', '.bin'];
  const user = await installPacked(PACKAGE, [...modules, '@types/node', 'undici-types']);
  const google = join(PACKAGE, '../../third_party/googleapis/google');
  for (const name of PROTOS) {
    const file = join(user.folder, 'proto/google', `${name}.proto`);
    mkdirSync(dirname(file), { recursive: true });
    cpSync(join(google, `${name}.proto`), file);
  }
  writeFileSync(join(user.folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(user.folder, 'serve.ts'), PROGRAM);
  await user.run('buf', ['build', 'proto', '-o', 'library.binpb']);
  await user.compile('serve.ts');
  const { unary, paths } = shelves(readFileSync(join(user.folder, 'library.binpb')));
  const server = await listen({ unary }, paths);
  const child = spawn('node', ['serve.js', server.address], {
    cwd: user.folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [port] = (await once(createInterface(child.stdout), 'line')) as [string];
  return {
    origin: `http://127.0.0.1:${port}`,
    async close() {
      child.kill();
      server.close();
      await user.remove();
    },
  };
}

/** A server that stores shelves and assigns their names. */
function shelves(descriptorSet: Uint8Array) {
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptorSet));
  const service = registry.getService('google.example.library.v1.LibraryService');
  const methods = (service?.methods ?? []).map((method) => ({
    method,
    path: `/${method.parent.typeName}/${method.name}`,
  }));
  const kept = new Map<string, JsonObject>();
  const answer = (name: string, asked: JsonObject): JsonObject | undefined => {
    if (name === 'GetShelf') return kept.get(asked['name'] as string);
    const shelf = { ...(asked['shelf'] as JsonObject), name: `shelves/${kept.size + 1}` };
    kept.set(shelf.name, shelf);
    return shelf;
  };
  const unary = ({ path, message }: { path: string; message: Uint8Array }): GrpcReply => {
    const trailers = new Metadata();
    const { method } = methods.find((each) => each.path === path) ?? {};
    if (method === undefined) throw new Error(path);
    const asked = toJson(method.input, fromBinary(method.input, message)) as JsonObject;
    const found = answer(method.name, asked);
    if (found === undefined)
      return { code: status.NOT_FOUND, details: 'There is no such shelf.', answered: true, trailers };
    return {
      code: status.OK,
      details: '',
      answered: true,
      trailers,
      message: toBinary(method.output, fromJson(method.output, found)),
    };
  };
  return { unary, paths: methods.map(({ path }) => path) };
}
