import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import {
  createFileRegistry,
  fromBinary,
  fromJson,
  toBinary,
  toJson,
  type JsonObject,
} from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { Metadata, status } from '@grpc/grpc-js';
import type { UnaryCall } from '../src/upstream.js';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { certificates } from '../../client/test/support/certificates.js';
import { errorOf, httpRequest, reasonOf, type HttpRequest } from './support/http-request.js';
import { type GrpcReply, listen } from './support/grpc-server.js';
import { opening } from './support/opening.js';
import { installPacked, type PackedPackage } from './support/packed-package.js';

const PACKAGE = resolve(import.meta.dirname, '..');

/** Building, packing and compiling are slow while other tests run. */
const PACKING_MS = 300_000;

/** The user's contract. */
const CONTRACT = `
syntax = "proto3";
package stock.v1;
import "google/api/annotations.proto";
import "google/protobuf/field_mask.proto";
service Stock {
  rpc UpdateItem(UpdateItemRequest) returns (Item) {
    option (google.api.http) = {patch: "/v1/{item.name=items/*}" body: "item"};
  }
  rpc ReleaseItem(ReleaseItemRequest) returns (Item) {
    option (google.api.http) = {post: "/v1/{name=items/*}:release" body: "*"};
  }
}
message Item {
  string name = 1;
  string display_name = 2;
  string changed = 3;
}
message UpdateItemRequest {
  Item item = 1;
  google.protobuf.FieldMask update_mask = 2;
}
message ReleaseItemRequest {
  string name = 1;
}
`;

/** The user's whole program. */
const PROGRAM = `
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { credentials } from '@grpc/grpc-js';
import { createTranscoder } from '@route-registry/transcoder';
import { grpcUpstream } from '@route-registry/transcoder/grpc-js';
import express from 'express';

const upstream = grpcUpstream(process.argv[2] ?? '', { credentials: credentials.createInsecure() });
const descriptorSet = readFileSync('stock.binpb');
const { handler, onClientError } = createTranscoder({ descriptorSet, upstream });
const servers = [
  createServer(handler),
  createServer(express().use(handler).use(express.json())),
  createSecureServer({ cert: readFileSync('cert.pem'), key: readFileSync('key.pem') }, handler),
];
for (const server of servers) server.on('clientError', onClientError).listen(0, '127.0.0.1');
await Promise.all(servers.map((server) => new Promise((resolve) => server.on('listening', resolve))));
console.log(servers.map((server) => (server.address() as AddressInfo).port).join());
`;

describe("the package in a user's project", () => {
  let user: PackedPackage;

  beforeAll(async () => {
    const types = ['@types/node', '@types/express', 'undici-types'];
    user = await installPacked(PACKAGE, [
      '@bufbuild',
      '@grpc/grpc-js',
      'express',
      'google-proto-files',
      'lru-cache',
      '.bin',
      ...types,
    ]);
    mkdirSync(join(user.folder, 'proto'));
    const write = (name: string, content: string | Buffer): void => {
      writeFileSync(join(user.folder, name), content);
    };
    write('package.json', '{"type":"module"}');
    write('proto/stock.proto', CONTRACT);
    write('serve.ts', PROGRAM);
    write('cert.pem', certificates.server.cert);
    write('key.pem', certificates.server.key);
    const google = 'node_modules/google-proto-files/google/api';
    for (const name of ['annotations.proto', 'http.proto'])
      cpSync(join(user.folder, google, name), join(user.folder, 'proto/google/api', name));
    await user.run('buf', ['build', 'proto', '-o', 'stock.binpb']);
    await user.compile('serve.ts');
  }, PACKING_MS);

  afterAll(async () => {
    await user.remove();
  });

  it('contains what it needs and nothing else', () => {
    const files = ['CHANGELOG.md', 'README.md', 'dist', 'package.json'];
    expect(readdirSync(user.installed).sort()).toEqual(files);
    expect(readdirSync(join(user.installed, 'dist'))).not.toContain('.tsbuildinfo');
  });

  /** Starts the user's program for a gRPC server. Returns a function for each of its HTTP servers. */
  async function serve(target: string) {
    const child = spawn('node', ['serve.js', target], {
      cwd: user.folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill());
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    const [plain, express, secure] = line.split(',');
    return [
      (request: HttpRequest) => httpRequest(`http://127.0.0.1:${plain}`, request),
      (request: HttpRequest) => httpRequest(`http://127.0.0.1:${express}`, request),
      (request: HttpRequest) => httpRequest(`https://127.0.0.1:${secure}`, request, certificates.ca.cert),
    ] as const;
  }

  /** Implements the contract. Never responds to the release of `items/slow`. */
  function stock(): (call: UnaryCall) => Promise<GrpcReply> {
    const registry = createFileRegistry(
      fromBinary(FileDescriptorSetSchema, readFileSync(join(user.folder, 'stock.binpb'))),
    );
    const methods = registry.getService('stock.v1.Stock')?.methods ?? [];
    return async ({ path, message }) => {
      const method = methods.find(({ name }) => path.endsWith(name));
      if (method === undefined) throw new Error(path);
      const asked = toJson(method.input, fromBinary(method.input, message)) as JsonObject;
      if (asked['name'] === 'items/slow') await new Promise(() => undefined);
      const { item = asked, updateMask = 'nothing' } = asked;
      const answer = fromJson(method.output, { ...(item as JsonObject), changed: updateMask });
      return {
        code: status.OK,
        details: '',
        answered: true,
        message: toBinary(method.output, answer),
        trailers: new Metadata(),
      };
    };
  }

  const PATHS = ['/stock.v1.Stock/UpdateItem', '/stock.v1.Stock/ReleaseItem'];
  const UPDATE = {
    method: 'PATCH',
    path: '/v1/items/7?updateMask=displayName',
    headers: { 'content-type': 'application/json' },
    body: '{"displayName":"Lamp"}',
  };
  const release = (item: string): HttpRequest => ({
    method: 'POST',
    path: `/v1/items/${item}:release`,
    headers: { 'request-timeout': '0.5' },
  });

  it("serves the user's contract and the server's failures with node:http, Express 5 and TLS", async () => {
    const server = opening(await listen({ unary: stock() }, PATHS));
    const ways = await serve(server.address);
    for (const send of ways) {
      expect(JSON.parse((await send(UPDATE)).text)).toEqual({
        name: 'items/7',
        displayName: 'Lamp',
        changed: 'displayName',
      });
      expect(JSON.parse((await send(release('7'))).text)).toMatchObject({
        name: 'items/7',
        changed: 'nothing',
      });
      const late = await send(release('slow'));
      expect(errorOf(late)).toMatchObject({ code: 504, status: 'DEADLINE_EXCEEDED' });
      expect(late.text).not.toContain('127.0.0.1');
    }
    server.close();
    for (const send of ways) {
      await expect.poll(async () => (await send(release('7'))).status).toBe(503);
      const response = await send(release('7'));
      expect(reasonOf(response)).toBe('UPSTREAM_UNAVAILABLE');
      expect(response.text).not.toMatch(/ECONNREFUSED|127\.0\.0\.1/);
    }
  });
});
